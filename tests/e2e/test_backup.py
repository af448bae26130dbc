"""That a crawl which is copied while it runs is restored as a crawl: it goes on, loses nothing and repeats nothing."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.write.records import read_records
from tests.e2e.crawling import (
    COMPLETE,
    FAILED,
    ONCEOVER,
    REFUSED,
    Ended,
    Web,
    assert_sound,
    assert_told,
    environment,
    fetched,
    onceover,
    setting,
)
from tests.e2e.killing import Lines, Moment, growth, victim
from tests.e2e.operating import SLOW, Operated, command_here, operated
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, assert_fetched_once, crossed, in_parts, send

_SLOW = setting("politeness.min_delay_s=5", "scope.sitemaps=false")
_SINKS = setting('output.sinks=["sqlite"]', "duplicates.near=mark")


ROUGH_WORLD = msgspec.structs.replace(SLOW, hosts=10, pages_per_host=20, links_per_page=10, slow=0.1)
ROUGH_SETTINGS = (
    "fetch.concurrency=8",
    "frontier.snapshot_every=15",
    "output.warc=true",
    "output.warc_max_bytes=60_000",
    "output.records_max_bytes=30_000",
)


def back_up(directory: Path, copy: Path, *more: str) -> dict[str, object]:
    done = command_here("backup", str(directory), "--to", str(copy), "--json", *more)
    assert_told(done, COMPLETE)
    return done.json()


def restore(copy: Path, directory: Path, *more: str) -> Ended:
    return command_here("restore", str(copy), "--to", str(directory), *more)


def assert_verified(directory: Path) -> None:
    """Ledger, output and databases agree."""
    verified = command_here("inspect", str(directory), "verify", "--json")
    assert_told(verified, COMPLETE)
    assert verified.json()["problems"] == []


def wait_for_pages(crawl: Operated, count: int) -> None:
    folder = crawl.directory / "records"
    crawl.crawl.wait_until(lambda: folder.is_dir() and sum(1 for _ in read_records(folder)) >= count, "pages")


def lineages(directory: Path) -> set[int]:
    return {record.number >> 40 for record in read_records(directory / "records")}


def test_a_crawl_that_is_copied_while_it_runs_is_restored_and_goes_on(tmp_path: Path) -> None:
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    with operated(tmp_path, *_SLOW, *_SINKS) as crawl:
        wait_for_pages(crawl, 1)
        first = back_up(crawl.directory, copy)
        wait_for_pages(crawl, 2)
        second = back_up(crawl.directory, copy)
        assert int(str(second["new_bytes"])) < int(str(second["bytes"]))
        assert first["copy"] == second["copy"]
        assert not (crawl.directory / "copying").exists()
        crawl.hurry()
        assert_told(crawl.crawl.wait(), COMPLETE)
        assert_told(restore(copy, restored), COMPLETE)
        assert_sound(restored)
        assert_verified(restored)
        before = fetched(restored)
        assert 0 < len(before) < len(crawl.web.pages)
        assert lineages(restored) == {0}
        # All pages may have been known when the copy was made.
        assert_told(command_here("add", str(restored), f"http://h00000.{crawl.web.params.domain}/not-there"), COMPLETE)
        assert_told(onceover("crawl", "--dir", "restored", *HURRIED, cwd=tmp_path), COMPLETE)
        for directory in (crawl.directory, restored):
            assert set(fetched(directory)) == crawl.web.pages
            assert_sound(directory)
            assert_verified(directory)
        (added,) = [record for record in read_records(restored / "records") if record.url.endswith("/not-there")]
        assert added.number >> 40 > 0
        assert lineages(crawl.directory) == {0}


def test_a_crawl_in_parts_is_restored_with_all_links_between_its_parts(tmp_path: Path) -> None:
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    with in_parts(tmp_path, *UNHURRIED) as crawl:
        with crawl.started() as supervisor:
            crawl.wait_until_all_crawl(supervisor)
            done = back_up(crawl.directory, copy)
            assert len(msgspec.convert(done["parts"], list[dict[str, object]])) == 2
        assert_told(restore(copy, restored), COMPLETE)
        assert_sound(restored)
        ended = onceover("crawl", "--dir", "restored", *HURRIED, cwd=tmp_path)
        assert_told(ended, COMPLETE)
        crawl.directory.rename(tmp_path / "original")
        restored.rename(crawl.directory)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert crossed(crawl.records()) > 0
        assert_sound(crawl.directory)
        assert_verified(crawl.directory)


def storm(folder: Path, events: int, seed: int) -> None:
    """Copy a crawl again and again while it runs, kill the backup or the crawl at any moment, restore what is whole,
    and go on with the restored crawl or the first. In the end nothing is missing, and nothing was settled twice."""
    random, copy = Random(seed), folder / "copies"
    settings = (*ROUGH_SETTINGS, "scope.sitemaps=false", "politeness.min_delay_s=0.1")
    with victim(folder, ROUGH_WORLD, *settings) as crawl:
        lines, whole = Lines(crawl.log), 0
        for number in range(events):
            backup = Backup(crawl.directory.path, copy, growth(lines, by=random.randint(1, 12)), random)
            if crawl.run(backup.moment, after_s=random.random() * 0.1) == COMPLETE:
                shutil.rmtree(crawl.directory.path)  # it is restored, or begins anew
            assert backup.code in (None, COMPLETE, -signal.SIGKILL, REFUSED), backup.told
            whole += backup.code == COMPLETE
            if not (copy / "copy.json").exists():
                continue
            restored = folder / f"restored-{number}"
            assert_told(restore(copy, restored), COMPLETE)
            assert_sound(restored)
            assert_verified(restored)
            if not crawl.directory.path.exists() or random.random() < 0.5:
                shutil.rmtree(crawl.directory.path, ignore_errors=True)
                restored.rename(crawl.directory.path)
            else:
                shutil.rmtree(restored)
        assert whole
        assert crawl.run() == COMPLETE
        assert set(fetched(crawl.directory.path)) == Web(0, ROUGH_WORLD).pages
        settled = Counter(record.number for record in read_records(crawl.directory.records, last_only=True))
        assert max(settled.values()) == 1
        urls = Counter(record.url for record in read_records(crawl.directory.records, last_only=True))
        assert max(urls.values()) == 1
        assert_sound(crawl.directory.path)
        assert_verified(crawl.directory.path)


class Backup:
    """Copies a crawl, in a process of its own, at a moment of it. Half of these processes are killed."""

    def __init__(self, directory: Path, copy: Path, begin: Moment, random: Random) -> None:
        self.code: int | None = None
        self.told = ""
        """Its exit code, and what it said."""
        self._command = [str(part) for part in (ONCEOVER, "backup", directory, "--to", copy)]
        self._begin = begin
        self._kill_after_s = random.random() * 1.5 if random.random() < 0.5 else None

    def moment(self) -> bool:
        """Whether it has ended."""
        if not self._begin():
            return False
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(self._command, env=environment(), stdin=subprocess.DEVNULL, stderr=errors)
            try:
                self.code = process.wait(self._kill_after_s)
            except subprocess.TimeoutExpired:
                process.kill()
                self.code = process.wait()
            errors.seek(0)
            self.told = f"exit code {self.code}: {errors.read()}"
        return True


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_a_storm_of_kills_of_backups_and_crawls_loses_nothing(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, 12, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_parts_that_are_killed_while_they_are_copied_lose_no_link(tmp_path: Path, seed: int) -> None:
    random, copy, restored = Random(seed), tmp_path / "copy", tmp_path / "restored"
    with in_parts(tmp_path, "politeness.min_delay_s=0.1", "fetch.concurrency=4", parts=3) as crawl:
        for _ in range(4):
            with crawl.started() as supervisor:
                moment = growth(Lines(crawl.log), by=random.randint(5, 25))
                while not moment() and supervisor.process.poll() is None:
                    time.sleep(0.005)
                command = [str(part) for part in (ONCEOVER, "backup", crawl.directory, "--to", copy)]
                backup = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL)
                if random.random() < 0.5 and (pid := crawl.pid(random.randrange(3))) is not None:
                    time.sleep(random.random())
                    send(pid, signal.SIGKILL)
                assert backup.wait() in (COMPLETE, FAILED, REFUSED)
                supervisor.process.kill()
                crawl.kill_parts()
            if not (copy / "copy.json").exists():
                continue
            shutil.rmtree(restored, ignore_errors=True)
            assert_told(restore(copy, restored), COMPLETE)
            assert_sound(restored)
            shutil.rmtree(crawl.directory)
            shutil.copytree(restored, crawl.directory)
        with crawl.started(*HURRIED) as supervisor:
            assert_told(supervisor.wait(), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert_sound(crawl.directory)
        assert_verified(crawl.directory)


@pytest.mark.long
def test_a_part_that_is_restored_to_an_older_moment_tells_the_links_that_it_lacks(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with in_parts(tmp_path, "politeness.min_delay_s=0") as crawl:
        with crawl.started() as supervisor:
            crawl.wait_until_all_crawl(supervisor)
            back_up(crawl.directory, copy)
            assert_told(supervisor.wait(), COMPLETE)
        shutil.rmtree(crawl.directory / "part-1")
        assert_told(restore(copy, crawl.directory, "--part", "1"), COMPLETE)
        told = command_here("inspect", str(crawl.directory), "fsck", "--json")
        assert_told(told, FAILED)
        kinds = {problem["kind"] for problem in msgspec.convert(told.json()["problems"], list[dict[str, object]])}
        assert kinds == {"gap"}
        ended = onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path)
        assert_told(ended, FAILED, "lost on their way")
