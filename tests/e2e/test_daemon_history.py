"""What the daemon keeps and tells of a crawl in two parts, over a kill of the daemon."""

import signal
import time
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from crawler.disk.layout import record_directories
from crawler.page import LinkKind
from crawler.simweb.process import running
from crawler.write.records import read_records
from tests.e2e.crawling import Web, started
from tests.e2e.parts.in_parts import WORLD
from tests.e2e.test_daemon import Served, kill_crawls, serving, write
from tests.e2e.test_daemon_api import BASE, Api, on_socket


def history(api: Api, query: str = "", *, name: str = "a") -> dict[str, list[Any]]:
    """The samples of the last hour, each by itself."""
    reply = api.ask("GET", f"{BASE}/crawls/{name}/history?points=2000{query}")
    assert reply.status == 200, reply
    columns: dict[str, list[Any]] = reply.json()["columns"]
    samples = [place for place, pages in enumerate(columns["pages"]) if pages is not None]
    return {name: [values[place] for place in samples] for name, values in columns.items()}


Scraped = dict[str, list[tuple[dict[str, str], float]]]


def scrape(api: Api) -> Scraped:
    """What Prometheus gets: values by name and labels."""
    reply = api.ask("GET", "/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain")
    found: Scraped = {}
    for family in text_string_to_metric_families(reply.body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def total(scraped: Scraped, name: str, **wanted: str) -> float:
    return sum(value for labels, value in scraped[name] if labels.items() >= {"crawl": "a", **wanted}.items())


def wait_for_rest(served: Served, api: Api, after: float) -> dict[str, list[Any]]:
    """The history, when it has a sample after a moment with nothing in flight."""

    def has_come() -> bool:
        columns = history(api)
        return any(
            moment > after and in_flight == 0
            for moment, in_flight in zip(columns["time"], columns["in_flight"], strict=True)
        )

    served.wait(has_come, "sample with nothing in flight")
    return history(api)


def test_the_history_of_a_crawl_in_parts_survives_a_kill_of_the_daemon_and_agrees_with_the_records(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    # So large that it is not complete before it is paused, however long the second daemon takes to start.
    params = msgspec.structs.replace(WORLD, pages_per_host=200)
    with running(params) as port:
        web = Web(port, params)
        write(home, "short", web, "limits.pages = 10")
        path = write(home, "a", web, "crawl.parts = 2", delay_s=2.0)
        path.write_text(path.read_text().replace('within = "domain"', 'within = "any"'))
        with started("daemon", str(home), cwd=tmp_path) as daemon:
            served = Served(home, daemon)
            try:
                served.wait_for_pid("a")
                served.wait((home / "daemon" / "api").exists, "socket")
                api = on_socket(served)
                served.wait(lambda: any(history(api)["pages"]), "first pages")
                # It ends between two looks of the daemon. What it tells at its end counts.
                served.wait(lambda: 10 in history(api, name="short")["pages"], "last sample of a short crawl")
            except BaseException:
                kill_crawls(home)
                raise
            daemon.signal(signal.SIGKILL)
            daemon.process.wait()
        with serving(home) as served:
            served.wait(lambda: "a: runs already" in served.daemon.err, "adoption")
            before = history(api)
            assert before["time"]
            api.do("POST", "/crawls/a/pause")
            after = wait_for_rest(served, api, time.time())
            assert after["time"][: len(before["time"])] == before["time"]
            assert after["pages"][: len(before["pages"])] == before["pages"]
            # Of both processes, the daemon's kill notwithstanding.
            written = list(read_records(*record_directories(served.directory("a"))))
            done = [record for record in written if record.state == "done"]
            assert after["done"][-1] == len(done)
            pages = [each for each in done if each.status == 200 and each.kind != LinkKind.SITEMAP]
            assert after["pages"][-1] == len(pages) > 0
            parts = [history(api, f"&part={number}") for number in (0, 1)]
            assert sum(each["pages"][-1] for each in parts) == len(pages)
            assert all(each["memory_bytes"][-1] > 1_000_000 for each in parts)
            assert after["memory_bytes"][-1] > sum(each["memory_bytes"][-1] for each in parts)
            scraped = scrape(api)
            assert {labels["part"] for labels, _ in scraped["onceover_pages_total"]} == {"0", "1"}
            assert total(scraped, "onceover_pages_total") == len(pages)
            assert total(scraped, "onceover_settled_urls", outcome="done") == len(done)
            assert total(scraped, "onceover_process_starts_total") == 2
            assert total(scraped, "onceover_crawl_state", state="paused") == 1
            assert api.ask("GET", f"{BASE}/crawls/a/history?from=0&to=-1").status == 422
            assert "and no part 7" in api.do("GET", "/crawls/a/history?part=7", status=409)["detail"]
            assert api.do("GET", "/crawls/a/history?part=1&from=1&to=2")["columns"]["time"] == []
            assert "is not in parts" in api.do("GET", "/crawls/short/history?part=1", status=409)["detail"]
            served.end()
