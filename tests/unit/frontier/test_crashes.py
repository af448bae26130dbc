"""A process that dies at any moment, and a log that is torn at any byte: a transition is there wholly or not at all."""

import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import DONE, drain, entry_of, next_lease, page
from crawler.testing.loops import in_virtual_time
from frontier import Lease, Outcome, UrlState
from frontier.shell import QueueFrontier
from tests.unit.frontier.crawls import Crawl, check

State = tuple[int, int, int, int, int]
"""Admitted, pending, retrying, done, failed."""


def state(frontier: QueueFrontier) -> State:
    stats = frontier.describe()
    return stats.admitted, stats.pending, stats.retrying, stats.done, stats.failed


async def crawl_a_little(frontier: QueueFrontier) -> set[State]:
    """Some transitions of each kind; all states that were true between two of them."""
    states = {state(frontier)}

    async def step(change: Awaitable[object]) -> None:
        await change
        states.add(state(frontier))

    async def take() -> Lease:
        out = await next_lease(frontier)  # which may have brought a retry that was due back into its queue
        states.add(state(frontier))
        return out

    failed = Outcome(state=UrlState.FAILED, reason="timeout", server_ok=False)
    for round_ in range(4):
        await step(frontier.add([page(f"h{host}", f"{round_}-{path}") for host in range(3) for path in range(2)]))
        await step(frontier.done(await take(), cooldown_s=0, outcome=DONE))
        await step(frontier.retry(await take(), after_s=2, cooldown_s=1))
        await step(frontier.done(await take(), cooldown_s=0, outcome=failed))
        out = await take()
        await step(frontier.add([out.url], force=True))
        await step(frontier.done(out, cooldown_s=3, outcome=DONE))
        await step(frontier.forget([f"http://h0.test/{round_}-0", f"http://h1.test/{round_}-0"]))
    return states


def newest_log(directory: Path) -> Path:
    return max((directory / "frontier").glob("*.log"))


async def tear(path: Path, *, every: int, chosen: Callable[[int], list[int]]) -> None:
    crawl = Crawl(path / "whole")
    frontier = await crawl.open(every=every)
    states = await crawl_a_little(frontier)
    torn = crawl.crashed(path / "torn")
    await frontier.aclose()
    whole = newest_log(torn.directory).read_bytes()
    found = Counter[State]()
    for length in chosen(len(whole)):
        shutil.rmtree(torn.directory)
        shutil.copytree(crawl.directory, torn.directory)  # the snapshot of closing is there too, which the log precedes
        newest_log(torn.directory).write_bytes(whole[:length])
        # The snapshot that the shorter log names is gone, where a later one was saved before it lost its tail.
        await check(torn.directory, rebuilt=True)
        async with torn.opened() as again:
            found[state(again)] += 1
            assert len(torn.visited) == again.describe().admitted
            if length % 50 == 0:
                await drain(again)
                assert again.describe().pending == 0
    assert found.keys() <= states | {(0, 0, 0, 0, 0)}
    assert len(found) > min(5, len(states) // 3)


@pytest.mark.parametrize("every", [7, 500_000])
@in_virtual_time
async def test_a_torn_log_holds_whole_transitions_only(memory_path: Path, every: int) -> None:
    await tear(
        memory_path,
        every=every,
        chosen=lambda size: sorted(random.Random(every).sample(range(size), 60)),
    )


@pytest.mark.long
@pytest.mark.parametrize("every", [7, 500_000])
@in_virtual_time
async def test_a_log_torn_at_any_byte_holds_whole_transitions_only(memory_path: Path, every: int) -> None:
    await tear(memory_path, every=every, chosen=lambda size: list(range(max(0, size - 4096), size + 1)))


CHILD = """
import asyncio, sys
from pathlib import Path
from crawler.testing.frontier.crawls import DONE, page
from tests.unit.frontier.crawls import Crawl

async def main() -> None:
    frontier = await Crawl(Path(sys.argv[1]), durability=sys.argv[2]).open(every=40)
    for number in range(int(sys.argv[3]), 1 << 40):
        host = f"h{number % 5}"
        await frontier.add([page(host, f"{number}"), page(host, f"{number}-kept")])
        print("added", f"http://{host}.test/{number}", flush=True)
        out = await anext(frontier)
        if number % 3 == 0:
            await frontier.retry(out, after_s=1000, cooldown_s=0)
            print("postponed", out.url.url, flush=True)
        else:
            await frontier.done(out, cooldown_s=0, outcome=DONE)
            print("done", out.url.url, flush=True)

asyncio.run(main())
"""


def killed_after(directory: Path, durability: str, first: int, acknowledgements: int) -> list[list[str]]:
    """What a process acknowledged before it was killed."""
    command = [sys.executable, "-c", CHILD, str(directory), durability, str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(acknowledgements)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        assert child.wait() == -signal.SIGKILL
    return [line.split() for line in lines if line.endswith("\n")]


async def storm(directory: Path, kills: int, *, durability: str) -> None:
    dice = random.Random(7)
    done: set[str] = set()
    added: set[str] = set()
    for life in range(kills):
        lines = killed_after(directory, durability, life * 1_000_000, dice.randrange(20, 200))
        for verb, url in lines:
            if verb == "added":
                added |= {url, f"{url}-kept"}
            elif verb == "done":
                assert url not in done  # nothing that was settled is fetched again
                done.add(url)
        await check(directory)
        async with Crawl(directory).opened() as frontier:
            for url in added:
                entry = await entry_of(frontier, url)
                if url in done:
                    assert entry.state is UrlState.DONE
            stats = frontier.describe()
            assert 0 <= stats.done - len(done) <= life + 1  # one may have been stored and not acknowledged
    async with Crawl(directory).opened() as frontier:
        assert not done & set(await drain(frontier))
        assert await settled(frontier, added) == added


async def settled(frontier: QueueFrontier, names: set[str]) -> set[str]:
    entries = {name: await frontier.status_of(name) for name in names}
    return {name for name, entry in entries.items() if entry is not None and entry.state is UrlState.DONE}


@in_virtual_time
async def test_what_a_killed_process_had_acknowledged_is_there(tmp_path: Path) -> None:
    await storm(tmp_path / "crawl", 3, durability="power")


@pytest.mark.long
@in_virtual_time
async def test_what_many_killed_processes_had_acknowledged_is_there(tmp_path: Path) -> None:
    await storm(tmp_path / "crawl", 200, durability="process")
