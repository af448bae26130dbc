"""That one crawl over the whole zoo ends, names every behaviour, stays small, and leaves good hosts their pace."""

import asyncio
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

import msgspec
import pytest

from config import toml_value
from crawler.page import PageRecord
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.write.records import read_records
from tests.conftest import REPOSITORY
from tests.zoo.crawling import ANSWERS, Told
from tests.zoo.keeper import DOMAIN, HEALTHY, HEALTHY_PAGES, LIMITS, OUTCOMES, Zoo, open_zoo

DELAY_S = 0.1
MAX_GROWTH_MB = 350.0
"""With what it takes before the first page, under the 500 MB that a part may take. Which bodies meet in memory depends
on the machine: 100 to 180 MB. What isn't bounded takes gigabytes here."""
PATIENT = LIMITS | {
    "timeout_s": 200.0,
    "connect_timeout_s": 45.0,
    "head_timeout_s": 45.0,
    "window_s": 45.0,
    "min_window_bytes": 1000,
}
"""The zoo's keeper is as busy as the crawl: on a loaded machine, what never ends may long give nothing."""


def configuration(zoo: Zoo, *, robots: bool) -> str:
    seeds = [
        *map(zoo.url, OUTCOMES),
        *map(zoo.url, HEALTHY),
        *(f"http://{name}/" for name in ANSWERS),
    ]
    sections: dict[str, dict[str, object]] = {
        "crawl": {"seeds": seeds},
        "frontier": {"max_attempts": 1},
        "output": {"text": True, "markdown": True, "structured_data": True, "pdf_text": True},
        "politeness": {"robots": robots, "min_delay_s": DELAY_S, "delay_factor": 0.0, "max_retry_after_s": 1.0},
        "fetch": {
            "user_agent": "onceover/1.0 (+https://library.se/)",
            "concurrency": 64,
            "hosts": zoo.hosts,
            "authorities": [zoo.authorities],
            **PATIENT,
        },
    }
    return "\n".join(
        f"[{section}]\n" + "\n".join(f"{name} = {toml_value(value)}" for name, value in values.items())
        for section, values in sections.items()
    )


async def crawled(folder: Path, *, robots: bool, https: bool = False) -> tuple[Told, list[PageRecord]]:
    async with open_zoo(folder, robots=robots, https=https) as zoo:
        file = folder / "crawl.toml"
        file.write_text(configuration(zoo, robots=robots), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.zoo.crawling",
            file,
            folder / "crawl",
            cwd=REPOSITORY,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), MAX_WAIT_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 0, err.decode()
    assert b"Traceback" not in err, err.decode()
    return msgspec.json.decode(out, type=Told), list(read_records(folder / "crawl" / "records"))


def outcome_of(record: PageRecord) -> str:
    """In the words of `keeper.outcome_of`."""
    if record.status is None:
        return f"{record.state} {record.reason}"
    if record.redirect is not None or (record.status == 302 and record.refused):
        return "redirect"
    if record.status == 304:
        return "not-modified"
    return f"page {record.status}" + (f" cut:{record.truncated}" if record.truncated else "")


def host_of(record: PageRecord) -> str:
    return record.url.split("/")[2]


@pytest.mark.parametrize("https", [False, pytest.param(True, marks=pytest.mark.long)], ids=["http", "https"])
async def test_a_crawl_of_all_of_it_ends_and_names_every_behaviour(https: bool, tmp_path: Path) -> None:
    told, records = await crawled(tmp_path, robots=False, https=https)
    assert told.ending == "complete"
    first = {host_of(record).removesuffix(f".{DOMAIN}"): outcome_of(record) for record in reversed(records)}
    assert {name: first.get(name) for name in OUTCOMES} == OUTCOMES
    assert {first[name] for name in ANSWERS} == {"failed private-address"}
    assert told.grown_mb < MAX_GROWTH_MB
    assert told.files_after == told.files_before
    assert told.tasks_after == 0
    for name in HEALTHY:
        times = sorted(
            datetime.fromisoformat(record.fetched_at or "").timestamp()
            for record in records
            if host_of(record) == f"{name}.{DOMAIN}"
        )
        assert len(times) == HEALTHY_PAGES
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert min(gaps) >= DELAY_S - 0.002  # records tell milliseconds
        # A host that had to wait for a slow animal's turn would wait for this long, at the least.
        assert median(gaps) < PATIENT["window_s"]
