"""Comparison runs as a user runs them: whole processes, small works."""

import gzip
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from signal import SIGINT, SIGKILL, Signals
from typing import Any

import msgspec
import pytest
import redis

from tests.e2e import crawling
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, STOPPED, USAGE, Ended, Running, Web, setting
from tests.redis_nodes import wait_until
from tests.redis_server import running_redis

QUICK = setting("compare.rounds=1", "compare.probes=500")


FONTS = "MPLCONFIGDIR"
"""Where the list of fonts is kept that the first plot makes, which takes seconds."""
WITHOUT_PLOTS = """
raise ModuleNotFoundError("to draw takes longer than the rest", name="matplotlib")
"""


@pytest.fixture(autouse=True, scope="module")
def _fonts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get(FONTS)
    folder = tmp_path_factory.mktemp("fonts")
    (folder / "matplotlib.py").write_text(WITHOUT_PLOTS)
    os.environ[FONTS] = str(folder)
    yield
    if before is None:
        del os.environ[FONTS]
    else:
        os.environ[FONTS] = before


def onceover(*arguments: str | Path, cwd: Path, has_plots: bool = False) -> Ended:
    env = {FONTS if has_plots else "PYTHONPATH": os.environ[FONTS]}
    return crawling.onceover(*arguments, cwd=cwd, timeout_s=crawling.TIMEOUT_S, **env)


def started(*arguments: str | Path, cwd: Path) -> AbstractContextManager[Running]:
    return crawling.started(*arguments, cwd=cwd, PYTHONPATH=os.environ[FONTS])


def urls(count: int) -> bytes:
    """Each twice."""
    return b"".join(b"https://h%d.test/page/%d\n" % (n % 7, n) for n in range(count)) * 2


def compared(*arguments: str | Path, cwd: Path, has_plots: bool = False) -> dict[str, Any]:
    """The report of a run that is complete."""
    ended = onceover("compare", *arguments, *QUICK, "--json", cwd=cwd, has_plots=has_plots)
    assert ended.code == COMPLETE, ended
    return msgspec.json.decode(ended.out, type=dict[str, Any])


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["competitor"]: row for row in report["rows"]}


def test_a_file_of_urls_is_compared_on_and_the_report_holds_every_sample(tmp_path: Path) -> None:
    (tmp_path / "urls.gz").write_bytes(gzip.compress(urls(3000)))
    sets = ("--backend", "exact", "--backend", "bloom")
    report = compared("--urls", "urls.gz", *sets, "--dir", "r", cwd=tmp_path, has_plots=True)
    assert report["complete"]
    assert report["works"][0]["survey"]["links"] == 6000
    assert report["works"][0]["survey"]["distinct"] == 3000
    assert {"machine", "versions", "seed"} <= report.keys()
    assert [(each["competitor"], each["kind"]) for each in report["trials"]] == [
        ("exact", "time"),
        ("bloom", "time"),
        ("exact", "check"),
        ("bloom", "check"),
    ]
    rows = by_name(report)
    assert rows["exact"]["lost"] == 0
    assert rows["exact"]["links_per_s"]["median"] > 0
    assert rows["bloom"]["bytes"] < rows["exact"]["bytes"]
    assert report["advice"][0]["competitor"] is not None
    assert msgspec.json.decode((tmp_path / "r" / "report.json").read_bytes()) == report
    assert not (tmp_path / "r" / "works").exists()
    assert (tmp_path / "r" / "report.html").read_text().count("<svg") == 4
    assert len(list((tmp_path / "r").glob("*.png"))) == 4


def test_a_bad_line_an_empty_file_and_a_competitor_that_is_not_there_are_told_and_the_others_finish(
    tmp_path: Path,
) -> None:
    (tmp_path / "bad.txt").write_bytes(b"https://a.test/\nnot a url\n\xff\n")
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "run.toml").write_text(
        '[compare]\nrounds = 1\nmemory_bytes = "60 MB"\n'
        '[[compare.work]]\nname = "bad"\nurls = "bad.txt"\n[[compare.work]]\nname = "empty"\nurls = "empty.txt"\n'
        '[[compare.set]]\nbackend = "exact"\n[[compare.set]]\nbackend = "redisbloom"\n'
        '[[compare.set]]\nname = "huge"\nbackend = "bloom"\ncapacity = 1_000_000_000\n'
    )
    ended = onceover("compare", "run.toml", "--dir", "r", cwd=tmp_path)
    assert ended.code == COMPLETE, ended
    assert "bad.txt:2: 'not a url' is not a URL" in ended.out
    assert "bad.txt:3: expected UTF-8, found the byte 0xff" in ended.out
    assert "empty: could not be measured\n  expected URLs, found nothing" in ended.out
    assert "redisbloom: redis" in ended.out
    assert "huge: out of memory; 60.0 MB were allowed" in ended.out
    assert "For 1 URL and" in ended.out


def test_without_matplotlib_the_extra_that_brings_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "urls").write_bytes(urls(50))
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError(name='matplotlib')\n")
    ended = crawling.onceover(
        "compare", "--urls", "urls", "--backend", "exact", *QUICK, cwd=tmp_path, PYTHONPATH=str(tmp_path)
    )
    assert ended.code == COMPLETE, ended
    assert "matplotlib is not installed: pip install 'onceover-crawler[compare]'\n" in ended.err


def test_what_can_not_be_read_is_told_and_works_and_sets_of_one_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "links").write_bytes(urls(50))
    (tmp_path / "a" / "links").write_bytes(urls(60))
    (tmp_path / "torn.gz").write_bytes(gzip.compress(urls(5000))[:2000])
    asked = [each for name in ("links", "a/links", "torn.gz", "a") for each in ("--urls", name)]
    ended = onceover("compare", *asked, "--backend", "exact", "--backend", "exact", *QUICK, "--dir", "r", cwd=tmp_path)
    assert ended.code == COMPLETE, ended
    assert "can't read torn.gz: Compressed file ended" in ended.out
    assert "can't read a: Is a directory" in ended.out
    report = msgspec.json.decode((tmp_path / "r" / "report.json").read_bytes())
    assert [(row["work"], row["competitor"], row["distinct"]) for row in report["rows"]] == [
        ("links", "exact", 50),
        ("links", "exact 2", 50),
        ("links 2", "exact", 60),
        ("links 2", "exact 2", 60),
    ]


def test_the_links_of_a_crawl_are_compared_on_page_by_page(web: Web, tmp_path: Path) -> None:
    crawled = onceover("crawl", *web.options, "--dir", "c", *setting("output.links=true"), cwd=tmp_path)
    assert crawled.code == COMPLETE, crawled
    report = compared("--crawl", "c", "--backend", "exact", cwd=tmp_path)
    survey = report["works"][0]["survey"]
    assert survey["links"] > survey["distinct"] >= 40
    assert survey["unreadable"] == 0


def test_a_crawl_without_links_says_how_to_record_them(web: Web, tmp_path: Path) -> None:
    onceover("crawl", *web.options, "--dir", "c", cwd=tmp_path)
    ended = onceover("compare", "--crawl", "c", "--backend", "exact", cwd=tmp_path)
    assert ended.code == FAILED
    assert "have no links; crawl with output.links = true" in ended.out


def test_a_live_crawl_tells_the_pages_that_a_set_loses(tmp_path: Path) -> None:
    (tmp_path / "live.toml").write_text(
        '[[compare.work]]\nname = "web"\nlive = "simweb"\nhosts = 4\npages = 40\n'
        '[[compare.set]]\nbackend = "exact"\n'
        '[[compare.set]]\nbackend = "bloom"\ncapacity = 20\nerror_rate = 0.5\n'
        '[[compare.set]]\nbackend = "raw"\n'
        '[[compare.set]]\nname = "hashed"\nbackend = "per-site"\nsite_bytes = 64\nfilters = 2\n'
        '[[compare.set]]\nbackend = "python-set"\n'
    )
    rows = by_name(compared("live.toml", cwd=tmp_path))
    for name in ("exact", "raw"):
        assert (rows[name]["pages"], rows[name]["pages_missing"]) == (160, 0)
    assert rows["hashed"]["pages_missing"] == 160 - rows["hashed"]["pages"] > 0
    assert rows["bloom"]["pages_missing"] == 160 - rows["bloom"]["pages"] > 0
    assert "can't be the visited set of a crawl" in rows["python-set"]["failed"]


def test_a_live_crawl_of_seeds_is_one_crawl_that_ends_whatever_the_configuration_says(web: Web, tmp_path: Path) -> None:
    (tmp_path / "live.toml").write_text(
        '[crawl]\nseeds = ["http://h00000.sim.test/"]\nparts = 2\n[recrawl]\nschedule = "fixed"\nstay = true\n'
        '[[compare.work]]\nname = "web"\nlive = "seeds"\n'
        '[[compare.set]]\nbackend = "raw"\n'
    )
    options = web.options[web.options.index("--set") :]
    row = by_name(compared("live.toml", *options, cwd=tmp_path))["raw"]
    assert (row["failed"], row["pages"]) == (None, len(web.pages))


def test_a_live_crawl_leaves_nothing_on_a_server_and_recommends_no_set_of_unknown_memory(tmp_path: Path) -> None:
    with running_redis() as server:
        (tmp_path / "live.toml").write_text(
            '[[compare.work]]\nname = "web"\nlive = "simweb"\nhosts = 2\npages = 5\n'
            '[[compare.set]]\nbackend = "raw"\n'
            f'[[compare.set]]\nbackend = "redis-exact"\noptions = {{ url = "{server.url}" }}\n'
        )
        report = compared("live.toml", cwd=tmp_path)
        with redis.Redis.from_url(server.url) as client:
            assert not list(client.scan_iter("*visited*"))
    row = by_name(report)["redis-exact"]
    assert (row["pages_missing"], row["bytes"]) == (0, None)
    assert [each["competitor"] for each in report["advice"]] == ["raw"]


@pytest.mark.parametrize("end", [SIGINT, SIGKILL])
@pytest.mark.parametrize("work", ["distinct = 500_000", 'live = "simweb"\nhosts = 5\npages = 2000'])
def test_a_comparison_that_ends_early_leaves_nothing_on_a_server(work: str, end: Signals, tmp_path: Path) -> None:
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        (tmp_path / "run.toml").write_text(
            f'[[compare.work]]\nname = "large"\n{work}\n'
            f'[[compare.set]]\nbackend = "redis-exact"\noptions = {{ url = "{server.url}" }}\n'
        )
        with started("compare", "run.toml", "--dir", "r", cwd=tmp_path) as running:
            running.wait_until(lambda: len(sets_of(client)) > 9, "URLs in the set")
            running.signal(end)
            running.process.wait()
            wait_until(lambda: len(client.client_list()) == 1 and not sets_of(client))


def sets_of(client: redis.Redis) -> list[bytes]:
    return list(client.scan_iter("*:visited:*", count=10_000))


def test_ctrl_c_leaves_a_partial_report_and_the_same_command_goes_on(tmp_path: Path) -> None:
    text = (
        '[compare]\nrounds = 2\n[[compare.set]]\nbackend = "exact"\n[[compare.work]]\nname = "small"\ndistinct = 2000\n'
    )
    (tmp_path / "run.toml").write_text(text.replace("rounds = 2", "rounds = 100"))
    with started("compare", "run.toml", "--dir", "r", cwd=tmp_path) as running:
        journal = tmp_path / "r" / "trials.jsonl"
        running.wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 3, "three trials")
        running.signal(SIGINT)
        ended = running.wait()
    assert ended.code == STOPPED, ended
    assert "partial report" in ended.err
    partial = msgspec.json.decode((tmp_path / "r" / "report.json").read_bytes())
    assert not partial["complete"]
    assert len(partial["trials"]) >= 3
    (tmp_path / "run.toml").write_text(text)
    done = journal.read_bytes().splitlines()
    assert onceover("compare", "run.toml", "--dir", "r", cwd=tmp_path).code == COMPLETE
    assert journal.read_bytes().splitlines()[: len(done)] == done
    assert len(journal.read_bytes().splitlines()) == len(done) + 1  # the check alone was missing


def test_a_comparison_that_was_killed_in_its_first_trial_goes_on_and_leaves_nothing(tmp_path: Path) -> None:
    text = '[[compare.set]]\nbackend = "exact"\n[[compare.work]]\nname = "large"\ndistinct = 300_000\n'
    (tmp_path / "run.toml").write_text(text)
    with started("compare", "run.toml", "--dir", "r", cwd=tmp_path) as running:
        running.wait_until(lambda: any((tmp_path / "r").rglob("trial-*")), "a trial")
        running.signal(SIGKILL)
        running.process.wait()
    (tmp_path / "run.toml").write_text(text.replace("300_000", "2000"))
    assert onceover("compare", "run.toml", *QUICK, "--dir", "r", cwd=tmp_path).code == COMPLETE
    assert [path.name for path in (tmp_path / "r").iterdir() if path.is_dir()] == []


def test_an_expected_figure_that_is_not_met_fails_the_run(tmp_path: Path) -> None:
    text = (
        '[compare]\nrounds = 1\n[[compare.work]]\nname = "w"\ndistinct = 100000\n[[compare.set]]\nbackend = "bloom"\n'
        '[[compare.expect]]\nwork = "w"\nset = "bloom"\nfigure = "bits_per_url"\ntolerance = 0.02\nvalue = '
    )
    for value, code in (("19.17", COMPLETE), ("9.6", FAILED)):
        (tmp_path / "run.toml").write_text(text + value)
        ended = onceover("compare", "run.toml", "--dir", "r", cwd=tmp_path)
        assert ended.code == code, ended


def test_what_can_not_be_compared_is_refused_with_what_to_do(tmp_path: Path) -> None:
    nothing = onceover("compare", cwd=tmp_path)
    assert nothing.code == USAGE
    assert "--urls FILE" in nothing.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    (tmp_path / "urls").write_bytes(urls(3))
    foreign = onceover("compare", "--urls", "urls", "--dir", "mine", cwd=tmp_path)
    assert foreign.code == REFUSED
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--urls", "links", "--urls", "nofile"], "onceover: --urls: can't read nofile: no such file"),
        (["--crawl", "nocrawl"], "onceover: --crawl: can't read nocrawl: no such directory"),
        (["run.toml"], "onceover: run.toml:1: compare.work[1]: can't read nofile: no such file"),
    ],
)
def test_what_is_not_there_is_told_before_anything_is_made(asked: list[str], words: str, tmp_path: Path) -> None:
    (tmp_path / "links").write_bytes(urls(50))
    (tmp_path / "run.toml").write_text('[[compare.work]]\nname = "gone"\nurls = "nofile"\n')
    before = sorted(tmp_path.iterdir())
    ended = onceover("compare", *asked, cwd=tmp_path)
    assert (ended.code, ended.err[: len(words)]) == (USAGE, words)
    assert sorted(tmp_path.iterdir()) == before


def test_the_adviser_tells_what_fits_without_measuring(tmp_path: Path) -> None:
    ended = onceover(
        "compare", "--advise", "--urls-expected", "2e8", "--loss", "1e-4", "--memory", "1GiB", cwd=tmp_path
    )
    assert ended.code == COMPLETE, ended
    assert "…" not in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80
    assert 'backend = "dsbf"\ncapacity = 200_000_000\nerror_rate = 0.0001\n' in ended.out
    as_json = onceover("compare", "--advise", "--urls-expected", "20_000", "--json", cwd=tmp_path).json()
    assert as_json["advised"] == "exact"
    assert as_json["visited"] == {"backend": "exact"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        ["--advise"],
        ["--advise", "--urls-expected", "many"],
        ["--advise", "--urls-expected", "1.1e12"],
        ["--advise", "--urls-expected", "9", "--memory", "much"],
    ],
)
def test_the_adviser_says_what_it_needs(wrong: list[str], tmp_path: Path) -> None:
    ended = onceover("compare", *wrong, cwd=tmp_path)
    assert ended.code == USAGE
    assert ended.err.startswith("onceover: ")


@pytest.mark.parametrize("given", [["--urls-expected", "9"], ["--loss", "1e-5"], ["--memory", "1 GiB"]])
def test_a_measurement_refuses_what_only_the_adviser_can_use(given: list[str], tmp_path: Path) -> None:
    ended = onceover("compare", "--urls", "u", *given, cwd=tmp_path)
    assert ended.code == USAGE
    assert "--loss and --memory go with --advise" in ended.err


@pytest.mark.parametrize("given", [["--urls", "u"], ["--crawl", "c"], ["site.toml"], ["--set", "compare.rounds=5"]])
def test_the_adviser_refuses_what_only_a_measurement_can_use(given: list[str], tmp_path: Path) -> None:
    ended = onceover("compare", "--advise", "--urls-expected", "9", *given, cwd=tmp_path)
    assert ended.code == USAGE
    assert "--advise measures nothing, so it can't use " in ended.err


@pytest.mark.parametrize("loss", ["2.0", "0.999999", "1e-13"])
def test_the_adviser_takes_a_share_that_may_be_lost(loss: str, tmp_path: Path) -> None:
    ended = onceover("compare", "--advise", "--urls-expected", "9", "--loss", loss, cwd=tmp_path)
    assert ended.code == USAGE
    assert f"'--loss': {loss} is not in the range" in ended.err


@pytest.mark.parametrize(("urls", "loss"), [("1", "0.5"), ("1e9", "1e-12")])
def test_a_crawl_takes_what_the_adviser_recommends(urls: str, loss: str, tmp_path: Path) -> None:
    limits = ["--urls-expected", urls, "--loss", loss, "--memory", "1 EB", "--backend", "bloom"]
    advised = onceover("compare", "--advise", *limits, "--json", cwd=tmp_path).json()["visited"]
    assert isinstance(advised, dict)
    (tmp_path / "c.toml").write_text("[visited]\n" + "".join(f"{key} = {value!r}\n" for key, value in advised.items()))
    checked = onceover("config", "check", "c.toml", cwd=tmp_path)
    assert "visited." not in checked.err, checked


def test_a_crawl_chooses_its_own_set_and_keeps_it(web: Web, tmp_path: Path) -> None:
    auto = setting("visited.backend=auto", "visited.memory_bytes=1 MB", "visited.capacity=200_000")
    first = onceover("crawl", *web.options, *auto, "--dir", "c", "--max-pages", "10", "--json", cwd=tmp_path)
    assert "visited.backend = auto chooses dsbf" in first.err
    again = onceover("crawl", "--dir", "c", "--json", cwd=tmp_path)
    assert again.code == COMPLETE, again
    assert "visited.backend = auto chooses dsbf" in again.err
    status = again.json()["status"]
    assert isinstance(status, dict)
    assert status["visited"]["backend"] == "dsbf"
    crawling.assert_sound(tmp_path / "c")


WORK = '[[compare.work]]\nname = "w"\ndistinct = 10\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[[compare.work]]\nname = "w"\n',
            "compare.work[1]: expected one of urls, crawl, distinct and live, found none",
        ),
        (WORK + 'urls = "u"\n', "compare.work[1]: expected one of urls, crawl, distinct and live, found 2 of them"),
        (WORK + WORK, 'compare.work[2]: expected a unique name, found "w" again'),
        (
            WORK + '[[compare.set]]\nbackend = "bloom"\nworks = ["v"]\n',
            "compare.set[1]: expected the name of a [[compare",
        ),
        (WORK + '[[compare.expect]]\nwork = "w"\nset = "x"\nfigure = "rate"\nvalue = 0\n', "there are none"),
        (
            WORK + '[[compare.set]]\nbackend = "bloom"\nhashes = 8\n',
            "compare.set[1]: expected bits or bits_per_url beside hashes = 8, found neither",
        ),
        (WORK + '[[compare.set]]\nbackend = "blom"\n', "compare.set[1].backend: expected "),
        (
            WORK + '[[compare.set]]\nbackend = "redis-exact"\noptions = { share = "library" }\n',
            'compare.set[1]: expected a set for the comparison alone, found share = "library": ',
        ),
    ],
)
def test_blocks_that_do_not_fit_together_are_refused_with_their_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(text)
    ended = onceover("compare", "run.toml", cwd=tmp_path)
    assert ended.code == USAGE
    assert "run.toml:" in ended.err
    assert words in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


@pytest.mark.long
@pytest.mark.parametrize("preset", ["compare-literature", "compare-literature-short"])
def test_the_literature_run_finds_every_figure_within_its_bound(preset: str, tmp_path: Path) -> None:
    fonts = {FONTS: os.environ[FONTS]}
    ended = crawling.onceover("compare", "--preset", preset, "--dir", "r", cwd=tmp_path, timeout_s=1800.0, **fonts)
    assert ended.code == COMPLETE, ended
    report = msgspec.json.decode((tmp_path / "r" / "report.json").read_bytes(), type=dict[str, Any])
    assert len(report["findings"]) == 40
    assert [each for each in report["findings"] if not each["met"]] == []
