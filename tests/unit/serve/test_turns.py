"""Of many crawls that are due at once, few start at a time."""

from functools import partial
from itertools import pairwise

import msgspec

from crawler.serve.life import changes
from crawler.serve.life.changes import Usage
from crawler.serve.life.facts import EndTimeouts, Facts, Plan, Process, Wish
from crawler.serve.life.settling import settle
from crawler.serve.life.steps import Start, Wait, next_step
from crawler.serve.life.summary import summarize
from crawler.serve.life.turns import STARTING_S, Turns

NOW_S = 1_800_000_000.0
MOST = 3
NAMES = tuple(f"crawl-{number:02}" for number in range(20))


class Folder:
    """Crawls that are due, and what was started."""

    def __init__(self) -> None:
        self.turns = Turns(MOST)
        self.now = NOW_S
        self.facts = {
            name: changes.configured(Facts(), Plan(directory=f"/home/crawls/{name}", digest="1")) for name in NAMES
        }
        self.woken = set(NAMES)
        self.started: list[str] = []

    def go_on(self) -> None:
        """Let each crawl that is woken do what is next."""
        while self.woken:
            name = min(self.woken)
            self.woken.remove(name)
            facts = settle(self.facts[name], self.now)[0]
            step = next_step(facts, self.now, timeouts=EndTimeouts())
            match self.turns.in_turn(name, facts, step, self.now, wake=partial(self.woken.add, name)):
                case Start(directory):
                    self.started.append(name)
                    process = Process(pid=len(self.started), directory=directory, began_at=self.now)
                    self.change(name, changes.started(facts, process))

    def change(self, name: str, facts: Facts) -> None:
        self.facts[name] = facts
        self.woken.add(name)

    def answer(self, name: str) -> None:
        process = self.facts[name].process
        assert process is not None
        usage = Usage(paused=None, waiting=None, pages=0, memory_bytes=0, open_files=0)
        self.change(name, changes.used(self.facts[name], process.pid, usage))

    @property
    def starting(self) -> list[str]:
        processes = {name: facts.process for name, facts in self.facts.items()}
        return [name for name, each in processes.items() if each is not None and not each.has_answered]


def test_crawls_start_a_few_at_a_time_until_all_have_started() -> None:
    folder = Folder()
    folder.go_on()
    last = folder.facts[NAMES[-1]]
    told = summarize(last, waits_for_turn=folder.turns.has_waiting(NAMES[-1]))
    assert (told.state, told.reason) == ("starting", "it waits until other crawls have started")
    while folder.starting:
        assert len(folder.starting) <= MOST
        folder.answer(folder.starting[0])
        folder.go_on()
    assert sorted(folder.started) == sorted(NAMES)


def test_a_crawl_that_was_stopped_while_it_waited_passes_its_turn_on() -> None:
    folder = Folder()
    folder.go_on()
    waiting = [name for name in NAMES if name not in folder.started]
    for name in waiting[:5]:
        folder.change(name, changes.wished(folder.facts[name], Wish.STOP, NOW_S))
    for name in folder.starting:
        folder.answer(name)
    folder.go_on()
    assert folder.starting == waiting[5 : 5 + MOST]


def test_a_process_that_dies_or_never_answers_keeps_no_other_from_its_turn() -> None:
    folder = Folder()
    folder.go_on()
    for name in folder.starting:
        folder.change(name, msgspec.structs.replace(folder.facts[name], process=None, to_look=True))
    folder.go_on()
    assert len(folder.starting) == MOST
    silent = folder.starting
    folder.now += STARTING_S
    folder.woken.update(silent)  # a keeper looks at least once a minute
    folder.go_on()
    assert len(folder.starting) == 2 * MOST


def test_a_crawl_that_was_found_running_needs_no_turn() -> None:
    turns, facts = Turns(1), Folder().facts[NAMES[0]]
    found = changes.started(facts, Process(pid=1, directory="/home/crawls/a", began_at=NOW_S))
    steps = [turns.in_turn(name, found, Wait(None), NOW_S, wake=list) for name in NAMES]
    assert all(each == after for each, after in pairwise(steps))
    assert turns.in_turn("other", facts, Start("/home/crawls/other"), NOW_S, wake=list) == Wait(None)
