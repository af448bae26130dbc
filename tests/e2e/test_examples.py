"""What README and docs show is what happens: commands run and print what stands below them, numbers apart; settings
load; Python runs. What can't be run here says why."""

import ast
import asyncio
import gzip
import io
import json
import logging
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, redirect_stdout
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryFile

import duckdb
import msgspec
import pytest
import trustme
import yaml
from click.testing import CliRunner
from rich.console import Console

from config.schema.exchange import Exchange
from crawler.cli import onceover as command_line
from crawler.cli.operate.pausing import status_lines
from crawler.cli.operate.top import screen
from crawler.cli.serve.crawls import show_crawls
from crawler.control.replies import CrawlStatus, HostForm, HostList, PartStatus, PauseState, Refusal
from crawler.control.requests import Pause
from crawler.control.wire import decode_reply, decode_request
from crawler.counters import Counters
from crawler.course.forms import CoursePoint, Remaining
from crawler.library.log_form import log_form
from crawler.operate.diff.forms import Answer, Diff, Difference
from crawler.operate.diff.forms import Crawl as DiffCrawl
from crawler.operate.diff.text import diff_lines
from crawler.operate.parts.sums import sum_statuses
from crawler.page import PageRecord
from crawler.preferences.values import read_value
from crawler.progress import line as progress_line
from crawler.redis.checks import permissions
from crawler.serve.api.forms import CrawlForm, CrawlList
from crawler.serve.life.news import News
from crawler.status import Status, status_of
from crawler.testing.sink.pages import write
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.write.database.postgres import PostgresOptions, PostgresSink
from crawler.write.database.rows import RowOptions
from crawler.write.database.sqlite import SqliteSink
from crawler.write.descriptor import Parameters
from tests.e2e.crawling import COMPLETE, LIMIT, ONCEOVER, USAGE, Web, environment, onceover, setting, start, started
from tests.e2e.examples import (
    PAGES,
    REPOSITORY,
    Block,
    arguments_of,
    blocks,
    examples,
    is_in,
    without_numbers,
)
from tests.e2e.operating import command_here
from tests.frontier_stats import frontier_stats
from tests.ports import free_port
from tests.postgres import running_postgres
from tests.unit.export.written import record, write_crawl
from visited import VisitedStats

MEASURES = "measures for minutes; what comparing.md shows of it is checked by itself, the rest in test_compare.py"
NOT_RUN = {
    r"make crawl SEEDS=": "a site on the Internet",
    r"make crawl *(?:#|$)": "runs `onceover demo`; what README.md shows of it is checked by itself",
    r"python3 -m venv |\S*pip install |make \.venv/": "installs; the tests themselves run in such an environment",
    r"make (test|coverage|test-long|bench|check|format|docs)\b": "what runs these tests",
    r"python -m (?:pytest|tests\.sanitizers)": "what runs these tests",
    r"onceover compare (--urls urls|--crawl|--preset|comparison)|zcat ": MEASURES,
    r"eval .*zsh_source|_ONCEOVER_COMPLETE=fish_source": "a shell that may not be installed",
    r"wb-manager|wayback": "pywb has an environment of its own; test_real_sites.py reads archives with warcio",
    r"apt-get install": "changes the machine",
    r"onceover (sharing|cluster \w+|crawl --cluster) ": "needs a server of Redis; tests with one use the same commands",
    r"onceover daemon /srv": "runs until it is ended; what daemon.md shows of it is checked by itself",
    r"onceover (diff crawls|frontier export crawls/live|crawl staging\.toml)\b": (
        "crawls of sites on the Internet; test_diff.py compares crawls of its own"
    ),
    r"onceover \w+ .*--url https:|export ONCEOVER_TOKEN": "a daemon elsewhere; test_daemon_from_afar.py does the same",
    r"onceover token \w+ /srv": "the tokens of a daemon; test_api_tokens.py uses the same commands",
    r"curl -s .*/api/v1/": "asks a daemon; test_daemon_api.py asks for the same",
    r"grep '\^urn:view:|warcio extract": "an archive of a site on the Internet; test_render.py finds screenshots too",
}
"""By the beginning of a command line."""
EXTENDING = "docs/extending.md"
EXAMPLES = REPOSITORY / "examples"
NEEDS = ("curl", "jq", "sqlite3", "zcat")
"""Programs without which an example is not run."""

SEED = "http://h00000.sim.test/"
STANDS_FOR = {
    "https://your.site/somewhere": SEED,
    "https://your.site/new": f"{SEED}new",
    "https://docs.example.org/": SEED,
    "https://www.example.org/a": SEED,
    ".venv/bin/onceover": "onceover",
}
"""What a page names in a command or below it, and what it is here."""
AS_FAST_AS_IT_GOES = {"ONCEOVER_POLITENESS__MIN_DELAY_S": "0", "ONCEOVER_POLITENESS__DELAY_FACTOR": "0"}
SITE = f'[crawl]\nseeds = ["{SEED}"]\n\n[scope]\nwithin = "domain"\n'
COMPARISON = """
[compare]
rounds = 2
probes = 1000

[[compare.work]]
name = "a stream"
distinct = 60_000

[[compare.set]]
backend = "bloom"

[[compare.set]]
backend = "dsbf"
"""


def hosts(web: Web) -> str:
    """`fetch.hosts`, by which its names lead to it."""
    return f'{{"*.sim.test" = "127.0.0.1:{web.port}"}}'


def as_here(text: str) -> str:
    for name, here in STANDS_FOR.items():
        text = text.replace(name, here)
    return text


class Shell:
    """A folder in which the commands of a page run one after the other, as a reader would run them."""

    def __init__(self, folder: Path, web: Web, plugins: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._port = free_port()
        self._environment = environment(
            COLUMNS="80",
            PYTHONPATH=str(plugins),
            ONCEOVER_FETCH__HOSTS=hosts(web),
            ONCEOVER_LIMITS__PAGES="3",
        ) | {"PATH": f"{ONCEOVER.parent}:{environment()['PATH']}"}

    def run(self, command: str) -> tuple[str, int]:
        """What a person sees in a terminal, both outputs in their order, and the exit code."""
        words = arguments_of(command) or [""]
        command = as_here(command).replace("8080", str(self._port))
        if words[0] == "simweb" and "--expected" not in words:
            return self._serve(command), COMPLETE
        written = self._folder / words[-1] if words[:2] == ["config", "init"] and words[-1].endswith(".toml") else None
        if written is not None:
            written.unlink(missing_ok=True)
        printed, code = self._fork(command) if is_plain(command) else self._interpret(command)
        if written is not None:
            assert written.exists(), printed
            written.write_text(SITE)  # "set its seeds"
        return printed, code

    def _interpret(self, command: str) -> tuple[str, int]:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=MAX_WAIT_S,
            check=False,
        )
        return done.stdout, done.returncode

    def _fork(self, command: str) -> tuple[str, int]:
        with TemporaryFile() as both:
            process = start(
                *shlex.split(command, comments=True)[1:], cwd=self._folder, out=both, err=both, env=self._environment
            )
            try:
                code = process.wait(MAX_WAIT_S)
            finally:
                process.kill()
                process.wait()
            both.seek(0)
            return both.read().decode(), code

    def _serve(self, command: str) -> str:
        """Begin to serve, for as long as the page lasts."""
        server = self._stack.enter_context(_process(f"exec {command}", self._folder, self._environment))
        assert server.stdout is not None
        return server.stdout.readline()


def is_plain(command: str) -> bool:
    """Whether it is one of `onceover` that needs no shell."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    return words[0] == "onceover" and not any(
        set(word) <= set("();<>|&") or set(word) & set("$*?~{`") for word in words
    )


@contextmanager
def _process(command: str, folder: Path, env: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(["bash", "-c", command], cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Path:
    """A complete crawl of a small web."""
    directory = tmp_path_factory.mktemp("crawled") / "site"
    options = [*web.options, *setting("output.links=true"), "--dir", str(directory)]
    ended = onceover("crawl", *options, cwd=directory.parent)
    assert ended.code == COMPLETE, ended.err
    return directory


@pytest.fixture
def folder(tmp_path: Path, crawled: Path, plugins: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With all that pages take for granted."""
    monkeypatch.syspath_prepend(str(plugins))
    (tmp_path / "examples").symlink_to(repository / "examples")
    for name in ("site", "docs"):
        shutil.copytree(crawled, tmp_path / "crawls" / name)
    for name in ("mysite", "site", "web"):
        (tmp_path / f"{name}.toml").write_text(SITE)
    (tmp_path / "comparison.toml").write_text(COMPARISON)
    (tmp_path / "seeds.txt").write_text(f"{SEED}\n{SEED}new\n")
    with gzip.open(tmp_path / "urls.txt.gz", "wt") as file:
        file.writelines(f"{SEED}{number}\n" for number in range(100))
    (tmp_path / "secret").write_text("user:password\n")
    trustme.CA().cert_pem.write_to_path(tmp_path / "our-ca.pem")
    monkeypatch.setenv("SITE_LOGIN", "user:password")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell(folder: Path, web: Web, plugins: Path) -> Iterator[Shell]:
    with ExitStack() as stack:
        yield Shell(folder, web, plugins, stack)


def reason(command: str) -> str | None:
    """Why a command is not run."""
    beginning = command.lstrip("(").removeprefix(".venv/bin/")
    for pattern, why in NOT_RUN.items():
        if re.match(pattern, beginning):
            return why
    lacking = [name for name in NEEDS if re.match(rf"{name} ", command) and shutil.which(name) is None]
    return f"{lacking[0]} is not installed" if lacking else None


@pytest.mark.parametrize("page", PAGES)
def test_each_command_line_of_a_page_is_understood(page: str) -> None:
    for example in examples(page):
        if (words := arguments_of(example.command)) is not None:
            # All options are parsed before --help is obeyed.
            result = CliRunner().invoke(command_line, [*words, "--help"])
            assert result.exit_code == 0, (example.command, result.output)


@pytest.mark.parametrize("page", [page for page in PAGES if any(not reason(one.command) for one in examples(page))])
def test_the_commands_of_a_page_run_and_print_what_it_shows(page: str, folder: Path, shell: Shell) -> None:
    if page == "docs/commands.md":
        # `half` is the demo after 300 pages, as the page says.
        shell.run("onceover demo --dir half --set limits.pages=300")
        shell.run("onceover demo --dir other --set limits.pages=1")
    wrong = []
    for example in examples(page):
        if reason(example.command) is not None:
            continue
        shows_typo = any("time_out_s" in line for line in example.shown)
        if "site.toml" in example.command.split():
            (folder / "site.toml").write_text(f"{SITE}\n[fetch]\ntime_out_s = 5\n" if shows_typo else SITE)
        command = example.command
        if not example.shown:
            # What nobody looks at may be short.
            command = command.replace("onceover demo", "onceover demo --set limits.pages=50")
        printed, code = shell.run(command)
        refused = any(line.startswith("onceover: ") for line in example.shown)
        shown = without_numbers(as_here("\n".join(example.shown)))
        if not is_in(shown, without_numbers(printed)):
            wrong.append(f"{example.command}\n  shown: {shown}")
            wrong.append(f"  prints: {without_numbers(printed)}")
        elif refused == (code in (COMPLETE, LIMIT)):
            wrong.append(f"{example.command}\n  ends with {code}: {printed}")
    assert not wrong, "\n".join(wrong)


# Settings


def as_configuration(text: str, folder: Path) -> str:
    """A block of settings with what else a configuration needs."""
    text = text.replace("/run/secrets/proxy", str(folder / "secret"))
    if "dedupe_against" in text:
        for name in re.findall(r'"([^"]+)"', text):
            place = folder / name / "site.cdxj" if not name.endswith(".cdxj") else folder / name
            place.parent.mkdir(parents=True)
            place.write_text("")
    if "[identity]" in text:
        CliRunner().invoke(command_line, ["identity", "init", "keys"])
    if "[[compare.expect]]" in text and "[[compare.work]]" not in text:
        text = f'[[compare.work]]\nname = "our links"\nurls = "urls.txt.gz"\n[[compare.set]]\nbackend = "dsbf"\n{text}'
    if "seeds =" not in text:
        text = f'{text}\n[crawl]\nseeds = ["{SEED}"]\n'
    return text


TOML = [block for page in PAGES for block in blocks(page) if block.language == "toml"]


@pytest.mark.parametrize("block", TOML, ids=lambda block: block.place)
def test_settings_that_a_page_shows_can_be_used(block: Block, folder: Path) -> None:
    (folder / "shown.toml").write_text(as_configuration(block.text, folder))
    result = CliRunner().invoke(command_line, ["config", "check", "shown.toml"])
    assert result.exit_code == 0, result.output + "".join(str(result.exception))


# Python


PYTHON = [block for page in PAGES for block in blocks(page) if block.language == "python"]


PRINTED = re.compile(r"^print\(.*\) +# (.+)$", re.MULTILINE)
"""What a line prints, where a comment behind it says so."""


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.place)
def test_python_that_a_page_shows_runs(
    block: Block, folder: Path, web: Web, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in AS_FAST_AS_IT_GOES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ONCEOVER_FETCH__HOSTS", hosts(web))
    if "from crawler import" in block.text:
        shutil.rmtree(folder / "crawls" / "site")  # which is complete
    code = compile(block.text.replace("https://your.site/", SEED), block.place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, {"__name__": "shown", "folder": folder})
    if running is not None:
        asyncio.run(running)
    printed = capsys.readouterr().out.splitlines()
    assert bool(printed) == (re.search(r"\bprint\b(?!\")", block.text) is not None)
    assert [line for line in PRINTED.findall(block.text) if line not in printed] == []


@pytest.mark.parametrize("block", [block for block in PYTHON if block.page == EXTENDING], ids=lambda block: block.place)
def test_the_page_on_plug_ins_shows_the_examples_as_they_are(block: Block) -> None:
    assert block.text in {path.read_text(encoding="utf-8") for path in EXAMPLES.rglob("*.py")}


# What is shown elsewhere than below its command

EVENT = b'{"crawl":"docs","state":"held","reason":"bad luck","lines":["line"],"directory":"/srv/crawls/docs"}\n'
PRINTED_MAIL = """
from contextlib import nullcontext
from types import SimpleNamespace

def SMTP(_):
    return nullcontext(SimpleNamespace(send_message=print))
"""


def check_summary(block: Block, folder: Path, shell: Shell) -> None:
    printed, _ = shell.run("onceover demo")  # which `make crawl` runs
    assert is_in(without_numbers(block.text), without_numbers(printed)), printed


def check_crawl_directory(block: Block, folder: Path, shell: Shell) -> None:
    top, *below = [line.split()[0] for line in block.text.splitlines()]
    assert [name for name in below if not list((folder / top).glob(name))] == []


def check_directory_of_parts(block: Block, folder: Path, shell: Shell) -> None:
    shell.run("onceover crawl web.toml --parts 2")
    top, *below = block.text.splitlines()
    names = [line.split()[0] for line in below]
    assert [name for name in names if not list((folder / top).glob(name))] == []


def check_report(block: Block, folder: Path, shell: Shell) -> None:
    shell.run("onceover demo --set limits.pages=100")
    printed, code = shell.run("onceover report crawls/demo")
    assert code == COMPLETE, printed
    assert _labels(printed) <= _labels(block.text)
    headings = [line.split() for line in (block.text + printed).splitlines() if line.startswith("most pages")]
    assert len(headings) == 2
    assert headings[0] == headings[1]


def _labels(report: str) -> set[str]:
    """What stands before the values of a report, above its tables."""
    return {line[:10].strip() for line in report.partition("\n\n")[0].splitlines()[1:]} - {""}


def check_diff(block: Block, folder: Path, shell: Shell) -> None:
    base = "https://www.example.org"

    def answer(path: str, status: int = 200, *, to: str | None = None, title: str = "", size: int = 0) -> Answer:
        redirect = None if to is None else f"{base}{to}"
        return Answer(url=f"{base}{path}", state="done", status=status, redirect=redirect, title=title, size_bytes=size)

    def gone(path: str, after: Answer | None, moved_to: str | None = None) -> Difference:
        target = None if moved_to is None else f"{base}{moved_to}"
        return Difference(
            url=f"{base}{path}", kind="gone", fields=[], before=answer(path), after=after, moved_to=target
        )

    shown = Diff(
        before=DiffCrawl(directory="crawls/old", until=None, pages=2310),
        after=DiffCrawl(directory="crawls/new", until=None, pages=2304),
        same=2287,
        counts={"new": 5, "gone": 11, "changed": 12, "answer": 1},
        fields={"body": 12, "title": 2, "canonical": 1},
        differences=[
            Difference(url=f"{base}/prices", kind="new", fields=[], before=None, after=answer("/prices")),
            gone("/jobs/12", answer("/jobs/12", 404)),
            gone("/contact", answer("/contact", 301, to="/")),
            gone("/team", None, "/about/team"),
            Difference(
                url=f"{base}/",
                kind="changed",
                fields=["title", "body"],
                before=answer("/", title="Example", size=18_400),
                after=answer("/", title="The new Example", size=21_000),
            ),
            Difference(
                url=f"{base}/shop",
                kind="answer",
                fields=["status", "redirect"],
                before=answer("/shop", 301, to="/"),
                after=answer("/shop", 404),
            ),
        ],
        more={},
        notes=[],
    )
    assert [*diff_lines(shown)] == [line for line in block.text.splitlines() if line != "…"]


def check_search(block: Block, folder: Path, shell: Shell) -> None:
    text = (
        "How a client asks again. A server that is overloaded gets more time at each attempt, because the client waits "
        "longer after each failure. This exponential backoff ends after five attempts, unless the server has said when "
        "to ask again."
    )
    known = {"fetched_at": "2026-11-20T18:38:16.352Z", "main_text": text, "title": "Retries"}
    pages = [record(1, url="https://docs.example.org/guide/retries", **known)]
    pages += [record(number, **known | {"main_text": "Other things", "title": "Other"}) for number in range(2, 47)]
    write_crawl(folder / "searched", pages)
    ended = command_here("search", str(folder / "searched"), "exponential", "backoff")
    assert ended.out + ended.err == block.text


def check_json_log(block: Block, folder: Path, shell: Shell) -> None:
    shown = msgspec.json.decode(block.text, type=dict[str, object])
    said = {name: shown[name] for name in ("name", "message", "fields")}
    record = logging.makeLogRecord({**said, "msg": said.pop("message"), "levelname": str(shown["level"]).upper()})
    record.created = datetime.fromisoformat(str(shown["time"])).timestamp()
    record.msecs = 123.0
    assert log_form("json", crawl=str(shown["crawl"]), part=1).format(record) == block.text.strip()


def check_progress_lines(block: Block, folder: Path, shell: Shell) -> None:
    counts = frontier_stats(admitted=55, pending=14, snoozed_queues=3, next_wake_s=0.3, next_wake_key="test,sim,h00003")
    retrying = msgspec.structs.replace(
        counts, pending=0, retrying=4, snoozed_queues=0, next_wake_s=15.5, next_wake_key=None
    )
    visited = VisitedStats(backend="exact", count=52, capacity=None, memory_bytes=11_100)
    tally = Counters()
    tally.pages, tally.bytes_received = 15, 50_400
    resting = status_of(tally, counts, visited, elapsed_s=4.0, recent_pages_per_s=3.8, monotonic=4.0)
    tally.pages, tally.bytes_received = 16, 59_700
    tally.failures["http-500"] = 1
    visited = msgspec.structs.replace(visited, count=55, memory_bytes=12_000)
    waiting = status_of(tally, retrying, visited, elapsed_s=8.0, recent_pages_per_s=1.2, monotonic=8.0)
    assert block.text.splitlines() == [progress_line(resting), progress_line(waiting)]


def check_advice(block: Block, folder: Path, shell: Shell) -> None:
    printed, _ = shell.run("onceover compare comparison.toml")
    assert " ".join(without_numbers(block.text)) in " ".join(without_numbers(printed)), printed  # lines may be wrapped


def check_event(block: Block, _: Path, __: Shell) -> None:
    assert msgspec.json.encode(msgspec.json.decode(block.text, type=News)).decode() == block.text.strip()
    page = (REPOSITORY / block.page).read_text()
    assert {name for name in News.__struct_fields__ if f"`{name}`" in page} >= {"old_state", "until", "exit_code"}


def check_webhook(block: Block, folder: Path, _: Shell) -> None:
    got = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Hook) as server, ThreadPoolExecutor(1) as threads:
        answering = threads.submit(server.handle_request)
        program = folder / "webhook"
        program.write_text(block.text.replace("https://hooks.example.org", f"http://127.0.0.1:{server.server_port}"))
        program.chmod(0o755)
        subprocess.run([program], input=EVENT, check=True)
        answering.result()
    assert got == [("application/json", EVENT.strip())]


def check_mail(block: Block, folder: Path, _: Shell) -> None:
    """With a module beside it that prints the mail."""
    (folder / "smtplib.py").write_text(PRINTED_MAIL)
    (folder / "mail.py").write_text(block.text)
    said = subprocess.run([sys.executable, folder / "mail.py"], input=EVENT, capture_output=True, check=True).stdout
    assert "Subject: docs: held\n" in said.decode()
    assert "\nbad luck\nline\n/srv/crawls/docs" in said.decode()


def check_nightly_mail(block: Block, folder: Path, shell: Shell) -> None:
    """With a program in place of `mail`, for a crawl in which a dead link is added."""
    for name, text in (("nightly", block.text), ("mail", '#!/bin/sh\n(echo "$@"; cat) > mailed\n')):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    lost = {"number": 99, "url": f"{SEED}lost", "via": SEED, "state": "done", "status": 404, "depth": 1, "kind": "link"}
    with (folder / "crawls" / "site" / "records" / "records-00000.jsonl").open("ab") as records:
        records.write(msgspec.json.encode(lost) + b"\n")
    for state, is_mailed in (("held", False), ("complete", True)):
        event = json.dumps({"state": state, "directory": "crawls/site"})
        assert shell.run(f"echo '{event}' | PATH=.:$PATH ./nightly") == ("", COMPLETE)
        assert (folder / "mailed").exists() == is_mailed
    assert f"404  {SEED}lost\n" in (folder / "mailed").read_text()


def check_problems(block: Block, folder: Path, shell: Shell) -> None:
    shown = f'[crawl]\nseeds = ["{SEED}"]\n\n[fetch]\ntimout_s = 5\nconcurrency = "many"\n'
    (folder / "crawl.toml").write_text(shown)
    printed, code = shell.run("onceover config check crawl.toml --set politeness.min_delay_s=60")
    assert code == USAGE
    assert block.text in printed.removeprefix("onceover: ")


def check_project(block: Block, folder: Path, shell: Shell) -> None:
    assert block.text == (EXAMPLES / "cuckoo-set" / "pyproject.toml").read_text()


def check_scrape_configuration(block: Block, folder: Path, shell: Shell) -> None:
    shown = yaml.safe_load(block.text)
    (job,) = shown["scrape_configs"]
    written = [one.command.partition("> ")[2] for one in examples(block.page) if "onceover token add" in one.command]
    assert [job["authorization"]["credentials_file"]] == written
    assert job["static_configs"][0]["targets"][0] in (REPOSITORY / "docs" / "daemon.md").read_text()
    assert all((REPOSITORY / "deploy" / name).exists() for name in shown["rule_files"])


def check_permissions(block: Block, folder: Path, shell: Shell) -> None:
    assert block.text.strip() == permissions(Exchange().prefix)  # tests/unit/redis/test_checks.py tries that line


def check_places(block: Block, folder: Path, shell: Shell) -> None:
    places = [re.split(r"  +", line)[0] for line in block.text.splitlines()]
    (folder / "places.txt").write_text("\n".join(places))
    printed, code = shell.run("onceover config check site.toml --set 'scope.place_files=[\"places.txt\"]'")
    assert code == COMPLETE, printed


def running_status() -> CrawlStatus:
    tally = Counters()
    tally.pages, tally.bytes_received, tally.links, tally.admitted = 91, 384_700, 2_792, 243
    tally.responses[200] = 97
    counts = frontier_stats(
        admitted=244,
        pending=147,
        retrying=1,
        done=96,
        snoozed_queues=5,
        next_wake_s=0.4,
        next_wake_key="org,example,www",
    )
    visited = VisitedStats(backend="exact", count=244, capacity=None, memory_bytes=5_100)
    run = status_of(tally, counts, visited, elapsed_s=6.0, recent_pages_per_s=15, monotonic=6.0)
    return CrawlStatus(directory="", running=True, pid=1207, paused=None, frontier=counts, run=run)


def status_in_parts() -> CrawlStatus:
    """Three parts, of which each is like the crawl of `running_status`."""
    runs: dict[int, Status] = {}
    parts: list[PartStatus] = []
    for number, pages in enumerate((1_730, 1_689, 1_785)):
        one = running_status()
        assert one.run is not None
        frontier = msgspec.structs.replace(
            one.frontier, admitted=20 * pages, pending=19 * pages, retrying=0, done=pages, next_wake_s=0.3 + number / 10
        )
        runs[number] = run = msgspec.structs.replace(
            one.run, pages=pages, bytes_received=8_000 * pages, recent_pages_per_s=pages / 25, frontier=frontier
        )
        one = msgspec.structs.replace(one, pid=1210 + number, frontier=frontier, run=run)
        parts.append(PartStatus(part=number, directory=f"crawls/web/part-{number}", status=one))
    whole = sum_statuses(runs)
    return CrawlStatus(
        directory="", running=True, pid=1207, paused=None, frontier=whole.frontier, run=whole, parts=parts
    )


def check_status_in_parts(block: Block, folder: Path, shell: Shell) -> None:
    assert block.text.splitlines() == status_lines(status_in_parts(), Path("crawls/web"))


SLOW = f"{SITE}[politeness]\nmax_delay_s = 900.0\n"
"""A crawl that does not end by itself while a test looks at it."""
DOCS_BEFORE = f"{SLOW}min_delay_s = 500.0\n[output]\nwarc_level = 2\n"
DOCS_AFTER = f'{SLOW}min_delay_s = 550.0\n[output]\nwarc_level = 5\n[daemon]\nmax_memory_bytes = "4 GB"\n'


def check_daemon(block: Block, folder: Path, shell: Shell) -> None:
    """A daemon says so when it begins, or when a configuration has changed."""
    served = folder / "srv"
    served.mkdir()
    (served / "docs.toml").write_text(DOCS_BEFORE)
    (served / "news.toml").write_text(SLOW)
    with started("daemon", "srv", cwd=folder, ONCEOVER_FETCH__HOSTS='{"*.sim.test" = "127.0.0.1:9"}') as daemon:
        try:
            for name in ("docs", "news"):
                daemon.wait_until((served / "crawls" / name / "control").is_socket, "socket")
            (served / "docs.toml").write_text(DOCS_AFTER)
            daemon.signal(signal.SIGHUP)
            daemon.wait_until(lambda: "has read the folder again" in daemon.err, "changes")
        finally:
            daemon.signal(signal.SIGTERM)
            said = daemon.wait().err.replace(str(served), "/srv/onceover")
    said = re.sub(r"(?m)^\S+ INFO (?=docs: changed)", "", said)
    assert set(without_numbers(block.text)) <= set(without_numbers(said))


def check_crawl_list(block: Block, folder: Path, shell: Shell) -> None:
    msgspec.json.decode(block.text, type=CrawlList)
    assert tuple(json.loads(block.text)["crawls"][0]) == CrawlForm.__struct_fields__


def check_list_of_crawls(block: Block, folder: Path, shell: Shell) -> None:
    """What is shown is how such crawls are shown."""
    docs = CrawlForm(
        name="docs",
        state="running",
        reason="all 3 hosts rest between requests; docs.example.org is next, in 0.3 s",
        lines=(),
        until=None,
        directory="/srv/onceover/crawls/docs",
        pid=30748,
        pages=812,
        memory_bytes=86_253_568,
        open_files=41,
        crashes=0,
    )
    shop_line = "/srv/onceover/shop.toml:9: politeness.min_delay_z: unknown key; did you mean politeness.min_delay_s?"
    changed = msgspec.structs.replace
    news = changed(docs, name="news", state="complete", reason="nothing is left to fetch", pid=None, pages=1204)
    news = changed(news, until="2026-11-23T03:00:00Z")
    shop = changed(docs, name="shop", state="broken", reason="its configuration can't be used", pid=None, pages=0)
    crawls = CrawlList(crawls=(docs, news, changed(shop, lines=(shop_line,))))
    with redirect_stdout(io.StringIO()) as shown:
        show_crawls("the daemon of /srv/onceover", crawls)
    assert [line.rstrip() for line in block.text.splitlines()] == [
        line.rstrip() for line in shown.getvalue().splitlines()
    ]


def check_status(block: Block, folder: Path, shell: Shell) -> None:
    course = [
        CoursePoint(at=f"2026-11-23T02:07:{second}.000Z", discovered=discovered, finished=finished)
        for second, discovered, finished in ((39, 1, 0), (41, 120, 30), (45, 244, 96))
    ]
    remaining = Remaining(urls=148, seconds=9.2)
    status = msgspec.structs.replace(running_status(), share_done=96 / 244, remaining=remaining, course=course)
    assert block.text.splitlines() == status_lines(status, Path("crawls/mysite"))


ROW_OF_TOP = re.compile(r"(\S+) +(\S+) +([\d,]+) +([\d,]+) +(\d\d:\d\d:\d\d)? +(.+)")


def check_top(block: Block, folder: Path, shell: Shell) -> None:
    """What is shown is how such hosts are shown."""
    rows = [match.groups() for line in block.text.splitlines() if (match := ROW_OF_TOP.fullmatch(line))]
    hosts = [
        HostForm(
            host=host,
            key="",
            state=state,
            size=_number(size),
            spent=_number(spent),
            leased=0,
            wake_at=None if until is None else f"2026-11-22T{until}.000Z",
            waits=waits,
        )
        for host, state, size, spent, until, waits in rows
    ]
    assert len(hosts) == 5
    status = running_status()
    assert status.run is not None
    status = msgspec.structs.replace(status, run=msgspec.structs.replace(status.run, waiting=None))
    console = Console(width=200)
    with console.capture() as shown:
        console.print(screen(status, HostList(hosts=hosts, left=0), Path("crawls/mysite")))
    assert without_numbers(block.text) == without_numbers(shown.get())


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def check_protocol(block: Block, folder: Path, shell: Shell) -> None:
    request, reply, error = block.text.encode().splitlines()
    assert isinstance(decode_request(request), Pause)
    assert isinstance(decode_reply(reply, PauseState), PauseState)
    assert isinstance(decode_reply(error, PauseState), Refusal)


def check_sqlite_query(block: Block, folder: Path, _: Shell) -> None:
    asyncio.run(SqliteSink(Parameters(directory=folder), RowOptions()).aclose())
    with closing(sqlite3.connect(folder / "pages.sqlite")) as database:
        database.execute(block.text)


def check_query_of_tables(block: Block, folder: Path, shell: Shell) -> None:
    told, code = shell.run("onceover export crawls/docs --format parquet --to tables")
    assert code == COMPLETE, told
    assert duckdb.sql(block.text.replace("'tables/", f"'{folder}/tables/")).fetchall()


def check_query_of_partitions(block: Block, folder: Path, shell: Shell) -> None:
    shell.run("onceover export crawls/docs --format parquet --to lake/docs --partition-by crawl,subset")
    found = duckdb.sql(block.text.replace("'lake/", f"'{folder}/lake/")).fetchall()
    assert {"warc"} <= {subset for _, subset, _ in found}


async def write_into_postgres(dsn: str, *numbers: int) -> None:
    """Makes the tables if they are missing."""
    sink = PostgresSink(Parameters(), PostgresOptions(dsn=dsn))
    await sink.begin()
    for number in numbers:
        await write(sink, number)
    await sink.aclose()


def check_postgres_queries(block: Block, _: Path, __: Shell) -> None:
    with running_postgres() as server:
        asyncio.run(write_into_postgres(server.dsn))
        server.query(block.text)


def check_postgres_rights(block: Block, _: Path, __: Shell) -> None:
    with running_postgres() as server:
        asyncio.run(write_into_postgres(server.dsn))
        server.query("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        server.query("CREATE ROLE crawler LOGIN")
        server.query(block.text.replace("DATABASE pages", "DATABASE postgres"))
        asyncio.run(write_into_postgres(server.dsn.replace("crawl@", "crawler@"), 1, 1, 2))
        assert server.query("SELECT number FROM onceover.pages ORDER BY number") == [["1"], ["2"]]


def check_preferences(block: Block, _: Path, __: Shell) -> None:
    shown = json.loads(block.text)
    [said] = shown["preferences"]
    assert msgspec.json.decode(msgspec.json.encode(read_value(said["signal"], said["source"], said["value"]))) == said
    assert shown["refused_for"] == said["refuses"]


SHOWN_ELSEWHERE = {
    ("README.md", "The crawl is complete."): check_summary,
    ("README.md", "crawls/site/"): check_crawl_directory,
    ("docs/commands.md", "4.0 s · 15 pages"): check_progress_lines,
    ("docs/commands.md", '{"time"'): check_json_log,
    ("docs/commands.md", "crawls/demo, "): check_report,
    ("docs/commands.md", "crawls/old -> "): check_diff,
    ("docs/comparing.md", "Recommended"): check_advice,
    ("docs/control.md", "crawls/mysite runs in process 1207\n"): check_status,
    ("docs/control.md", "crawls/mysite runs in process 1207:"): check_top,
    ("docs/control.md", "crawls/web runs in process 1207\n"): check_status_in_parts,
    ("docs/control.md", '{"version"'): check_protocol,
    ("docs/configuration.md", "3 problems"): check_problems,
    ("docs/daemon.md", "2026-"): check_daemon,
    ("docs/daemon.md", "docs: changed"): check_daemon,
    ("docs/daemon.md", '{"crawls"'): check_crawl_list,
    ("docs/daemon.md", "the daemon of /srv/onceover has"): check_list_of_crawls,
    ("docs/daemon.md", '{"time"'): check_event,
    ("docs/daemon.md", "#!/bin/sh"): check_webhook,
    ("docs/daemon.md", "#!/usr/bin/python3"): check_mail,
    ("docs/databases.md", "SELECT dead.url"): check_sqlite_query,
    ("docs/databases.md", "SELECT host"): check_postgres_queries,
    ("docs/databases.md", "GRANT "): check_postgres_rights,
    ("docs/extending.md", "[build-system]"): check_project,
    ("docs/metrics.md", "scrape_configs:"): check_scrape_configuration,
    ("docs/output.md", "#!/bin/sh"): check_nightly_mail,
    ("docs/output.md", "SELECT url_host"): check_query_of_tables,
    ("docs/output.md", "SELECT title"): check_query_of_tables,
    ("docs/output.md", "FROM read_parquet"): check_query_of_partitions,
    ("docs/parts.md", "crawls/web/"): check_directory_of_parts,
    ("docs/parts.md", "ACL SETUSER"): check_permissions,
    ("docs/preferences.md", '{"url"'): check_preferences,
    ("docs/reading.md", "www.example.org "): check_places,
    ("docs/searching.md", "1. Retries"): check_search,
}
"""Blocks that are neither settings nor Python nor commands, by page and beginning; and what checks them."""
OTHERS = [
    block
    for page in PAGES
    for block in blocks(page)
    if not block.shows_commands and block.language not in ("toml", "python")
]


def checker(block: Block) -> Callable[[Block, Path, Shell], None] | None:
    for (page, beginning), check in SHOWN_ELSEWHERE.items():
        if block.page == page and block.text.startswith(beginning):
            return check
    return None


@pytest.mark.parametrize("block", OTHERS, ids=lambda block: block.place)
def test_what_a_page_shows_beside_its_commands_is_so(block: Block, folder: Path, shell: Shell) -> None:
    check = checker(block)
    assert check is not None, f"nothing checks what stands at {block.place}; add it to SHOWN_ELSEWHERE"
    check(block, folder, shell)


# Nothing is left out


def test_nothing_is_named_that_no_page_shows() -> None:
    shown = [example.command for page in PAGES for example in examples(page)]
    unused = [one for one in NOT_RUN if not any(reason(command) == NOT_RUN[one] for command in shown)]
    checked = {checker(block) for block in OTHERS}
    unused += [beginning for (_, beginning), check in SHOWN_ELSEWHERE.items() if check not in checked]
    below = [line for page in PAGES for example in examples(page) for line in example.shown]
    unused += [name for name in STANDS_FOR if not any(name in line for line in shown + below)]
    assert unused == []


def test_no_output_is_shown_below_a_command_that_is_not_run() -> None:
    silent = [f"{page}: {one.command}" for page in PAGES for one in examples(page) if one.shown and reason(one.command)]
    assert silent == []


def test_filters_of_records_name_fields_of_records(crawled: Path) -> None:
    fields = set(PageRecord.__struct_fields__)
    filters = [one.command for page in PAGES for one in examples(page) if one.command.startswith("jq ")]
    assert len(filters) >= 3
    for command in filters:
        program = re.sub(r'"[^"]*"', "", command.split("'")[1])
        named = set(re.findall(r"\.(\w+)", program)) | {
            name for group in re.findall(r"\{([\w, ]+)\}", program) for name in group.split(", ")
        }
        assert named <= fields, command


def test_there_are_examples_to_check() -> None:
    run = [one for page in PAGES for one in examples(page) if not reason(one.command)]
    assert len(run) >= 55
    assert len([one for one in run if one.shown]) >= 18
    assert len(TOML) >= 18
    assert len(PYTHON) >= 14
