"""What the API of a daemon tells of real crawls, and changes in them: those that run and those that do not, in one part
and in several."""

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tests.e2e.crawling import Web, assert_sound
from tests.e2e.test_daemon import Served, serving, write
from tests.e2e.test_daemon_api import BASE, Api, on_socket

ELSEWHERE = "http://elsewhere.test/"


def has_hosts(api: Api, name: str) -> bool:
    """Parts do not answer before they have started."""
    reply = api.ask("GET", f"{BASE}/crawls/{name}/queues")
    return reply.status == 200 and len(reply.json()["queues"]) > 1


def is_quiet(api: Api, name: str) -> bool:
    """What was in flight when it was paused is done."""
    return bool(api.do("GET", f"/crawls/{name}/status")["frontier"]["in_process"] == 0)


def is_stopped(api: Api, name: str) -> bool:
    return bool(api.do("GET", f"/crawls/{name}")["state"] == "stopped")


def assert_tells_its_state(api: Api, name: str, web: Web, *, parts: int, running: bool) -> None:
    status = api.do("GET", f"/crawls/{name}/status")
    assert status["running"] is running
    assert len(status.get("parts", [None])) == parts
    # In this order: parts may still send each other links to new hosts.
    queues = api.do("GET", f"/crawls/{name}/queues?sort=key")["queues"]
    hosts = api.do("GET", f"/crawls/{name}/hosts")["hosts"]
    assert {each["host"] for each in queues} <= {each["host"] for each in hosts}
    assert all(each["waits"] for each in hosts)
    assert all(("part" in each) is (parts > 1) for each in (*hosts, *queues))
    counts = [api.do("GET", f"/crawls/{name}/visited")["count"]]
    if parts > 1:
        counts.append(sum(api.do("GET", f"/crawls/{name}/visited?part={part}")["count"] for part in range(parts)))
    after = api.do("GET", f"/crawls/{name}/status")
    assert all(status["frontier"]["admitted"] <= count <= after["frontier"]["admitted"] for count in counts)
    assert api.do("GET", f"/crawls/{name}/refused")["left"] == 0


def assert_tells_what_it_has_found(api: Api, name: str, web: Web) -> None:
    pages = api.do("GET", f"/crawls/{name}/pages?limit=3")["pages"]
    assert 1 <= len(pages) <= 3
    failed = api.do("GET", f"/crawls/{name}/pages?failed=true")
    assert {each["state"] for each in failed["pages"]} <= {"failed"}
    assert failed["searched_all"]
    report = api.do("GET", f"/crawls/{name}/report?limit=1")
    assert report["summary"]["pages"] >= len(report["hosts"]["most_pages"]) == 1
    slowest = api.do("GET", f"/crawls/{name}/report?section=slowest&limit=2")["slowest"]
    assert [each["status"] is not None for each in slowest] == [True] * len(slowest) != []
    api.do("GET", f"/crawls/{name}/report?section=nothing", status=422)
    found = api.do("GET", f"/crawls/{name}/search?words=site:{web.params.domain}%20title:page&limit=1")
    assert (found["pages"] >= len(found["hits"]) == 1, found["hits"][0]["title_marks"] != []) == (True, True)
    api.do("GET", f"/crawls/{name}/search?words=-none", status=422)
    api.do("GET", f"/crawls/{name}/search?words=no%00page", status=422)
    diff = api.do("GET", f"/crawls/{name}/diff?since=-86400&limit=1")
    assert (diff["before"]["pages"], diff["same"], len(diff["differences"])) == (0, 0, 1)
    assert diff["after"]["pages"] == diff["counts"]["new"] >= 1
    api.do("GET", f"/crawls/{name}/diff", status=422)
    assert_compares_crawls(api, name, web)
    api.do("GET", f"/crawls/{name}/diff?run=..", status=404)
    seed = f"http://h00000.{web.params.domain}/"
    story = api.do("GET", f"/crawls/{name}/url?url={quote(seed, safe='')}")
    assert (story["found"]["state"], story["record"]["url"]) == ("done", seed)
    assert api.do("GET", f"/crawls/{name}/url?url={ELSEWHERE}")["found"] is None
    api.do("GET", f"/crawls/{name}/url?url=no", status=422)
    assert any(
        "resumed" in line or "began" in line or line for line in api.do("GET", f"/crawls/{name}/log?lines=5")["lines"]
    )
    settings = {each["key"]: each for each in api.do("GET", f"/crawls/{name}/configuration")["settings"]}
    assert settings["politeness.min_delay_s"]["origin"].endswith(f"{name}.toml:5")
    assert [key for key, each in settings.items() if each["running"] is not None] == []


def assert_compares_crawls(api: Api, name: str, web: Web) -> None:
    against = f"/crawls/{name}/diff?limit=1&against="
    diff = api.do("GET", against + name)
    assert (diff["same"] >= 1, diff["differences"]) == (True, [])
    domain = web.params.domain
    moved = api.do("GET", f"{against}{name}&map=http://h00000.{domain}+http://gone.{domain}/")
    assert moved["counts"]["new"] == moved["counts"]["gone"] == diff["same"] - moved["same"] >= 1
    api.do("GET", f"{against}nobody", status=404)
    api.do("GET", f"{against}..%2F{name}", status=404)
    api.do("GET", f"{against}{name}&since=-1", status=422)
    for pairs in ("http://a.test/", "mailto:a@b http://a.test/", "--json --json"):
        api.do("GET", f"{against}{name}&map={quote(pairs)}", status=422)


def assert_pages_of_queues(api: Api, name: str) -> None:
    whole = api.do("GET", f"/crawls/{name}/queues")
    found: list[Any] = []
    after = ""
    while True:
        page = api.do("GET", f"/crawls/{name}/queues?limit=2{after}")
        found += page["queues"]
        if not page["left"]:
            break
        after = f"&after_rank={page['ranks'][-1]}&after_key={quote(page['queues'][-1]['key'])}"
    assert [each["host"] for each in found] == [each["host"] for each in whole["queues"]]


def assert_takes_changes(served: Served, api: Api, name: str, web: Web) -> None:
    host = api.do("GET", f"/crawls/{name}/hosts?limit=1")["hosts"][0]["host"]
    retired = api.do("POST", f"/crawls/{name}/hosts/{host}/retire")["queues"]
    assert [each["retired"] for each in retired] == [True]
    assert "retired" in api.do("POST", f"/crawls/{name}/hosts/{host}/retire", status=409)["detail"]
    (shown,) = api.do("GET", f"/crawls/{name}/hosts?match={host}")["hosts"]
    assert shown["state"] == "retired"
    assert [each["retired"] for each in api.do("POST", f"/crawls/{name}/hosts/{host}/unretire")["queues"]] == [False]
    assert api.do("POST", f"/crawls/{name}/hosts/{host}/budget", b'{"cost": 9999}')["queues"][0]["budget"] == 9999
    assert api.do("POST", f"/crawls/{name}/hosts/{host}/budget", b'{"cost": null}')["queues"][0]["budget"] is None
    api.do("POST", f"/crawls/{name}/hosts/no.test/retire", status=409)
    api.do("POST", f"/crawls/{name}/hosts/{host}/budget", b"{}", status=422)
    assert api.do("POST", f"/crawls/{name}/checkpoint").keys() == {"running", "at", "settled", "queued", "files"}
    added = api.do(
        "POST",
        f"/crawls/{name}/seeds",
        b'{"urls": ["http://h00000.%s/", "no", "%s"]}'
        % (
            web.params.domain.encode(),
            ELSEWHERE.encode(),
        ),
    )
    assert [each["outcome"] for each in added["urls"]] in (
        ["known", "invalid", "refused"],
        ["waits", "invalid", "refused"],
    )
    assert "--" not in str(added), "options are those of the command line"
    assert f"API, local socket: {name}: retired {host}" in served.daemon.err
    piece: dict[str, Any] = {"after": ""}
    looked_at = taken = 0
    while piece["after"] is not None:
        wanted = {"which": {"matching": "^http"}, "whole": True, "after": piece["after"]}
        piece = api.do("POST", f"/crawls/{name}/recrawl", msgspec.json.encode(wanted))
        looked_at, taken = looked_at + piece["looked_at"], taken + piece["taken"]
    assert 0 < taken <= looked_at
    forgotten = api.do("POST", f"/crawls/{name}/forget", b'{"urls": ["http://never.seen.test/"]}')
    assert [each["outcome"] for each in forgotten["urls"]] == ["unknown"]
    none = msgspec.json.encode({"which": {"host": "never.seen.test"}})
    assert api.do("POST", f"/crawls/{name}/forget-selected", none)["taken"] == 0
    api.do("POST", f"/crawls/{name}/forget-selected", b'{"which": {}}', status=422)


def test_programs_look_into_crawls_and_change_them_whether_they_run_or_not(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "one", slow_web, delay_s=5.0)
    write(home, "two", slow_web, "crawl.parts = 2", delay_s=5.0)
    (home / "broken.toml").write_text("[crawl]\nseeds = 5\n")
    with serving(home) as served:
        api = on_socket(served)
        names = {"one": 1, "two": 2}
        with api.events() as events:
            kind, told = next(events)
            assert (kind, [each["name"] for each in told["crawls"]]) == ("crawls", ["broken", *names])
            for name in names:
                served.wait_for_pid(name)
                served.wait(partial(has_hosts, api, name), "hosts")
                # It goes on running, and nothing that it tells changes.
                api.do("POST", f"/crawls/{name}/pause")
            wanted = {(kind, name) for kind in ("paused", "rate") for name in names}
            while wanted:
                kind, told = next(events)
                wanted.discard((told.get("state", kind), told["name"]))
        for name, parts in names.items():
            served.wait(partial(is_quiet, api, name), "end of what was in flight")
            assert_tells_its_state(api, name, slow_web, parts=parts, running=True)
            assert_tells_what_it_has_found(api, name, slow_web)
            if parts == 1:
                assert_pages_of_queues(api, name)
            assert_takes_changes(served, api, name, slow_web)
            api.do("POST", f"/crawls/{name}/stop", status=202)
        for name in names:
            served.wait(partial(is_stopped, api, name), "stop")
        # Each request starts a process now, so these are the most telling ones.
        assert api.do("GET", "/crawls/one/status")["running"] is False
        assert_tells_its_state(api, "two", slow_web, parts=2, running=False)
        first = api.do("GET", "/crawls/two/hosts?limit=1")
        behind = quote(msgspec.json.encode(first["after"]).decode())
        second = api.do("GET", f"/crawls/two/hosts?limit=1&after={behind}")
        assert second["hosts"][0]["key"] > first["hosts"][0]["key"]
        host = first["hosts"][0]["host"]
        assert api.do("POST", f"/crawls/two/hosts/{host}/retire")["queues"][0]["retired"]
        assert api.do("GET", f"/crawls/two/hosts?match={host}")["hosts"][0]["state"] == "retired"
        assert api.do("POST", "/crawls/two/seeds", b'{"urls": ["no"]}')["urls"][0]["outcome"] == "invalid"
        assert "has no directory yet" in api.do("GET", "/crawls/broken/status", status=409)["detail"]
        for path in (
            "queues?limit=0",
            "queues?sort=x",
            "hosts?limit=99999",
            "hosts?wrong=1",
            "hosts?after=5",
            "status?part=x",
        ):
            api.do("GET", f"/crawls/one/{path}", status=422)
        api.do("GET", "/crawls/one/status?part=0", status=409)
        served.end()
    for name in names:
        assert_sound(served.directory(name))
