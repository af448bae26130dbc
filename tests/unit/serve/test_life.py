"""What becomes of a crawl of a daemon: random histories of a crawl, its directory and its daemon."""

import errno
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from crawler.serve.life import changes
from crawler.serve.life.changes import Looked, Usage
from crawler.serve.life.endings import GONE, RUNS_GONE, STOPPED_GRACE_S, TRY_AGAIN_S, Ended
from crawler.serve.life.facts import LASTING, MAX_RUNS, EndTimeouts, Facts, Plan, Process, Record, Restarts, Why, Wish
from crawler.serve.life.settling import closed, settle
from crawler.serve.life.steps import End, Look, Start, Wait, next_step
from crawler.serve.life.summary import summarize

RESTARTS = Restarts()
TIMEOUTS = EndTimeouts()
START_S = 1_800_000_000.0
PLAN = Plan(directory="/home/crawls/a", digest="1", max_memory_bytes=1000, max_open_files=100)


def process(pid: int = 7, at: float = START_S, *, foreign: bool = False) -> Process:
    return Process(pid=pid, directory=PLAN.directory, began_at=at, is_foreign=foreign)


def command(pid: int = 8, at: float = START_S) -> Process:
    return msgspec.structs.replace(process(pid, at, foreign=True), may_be_command=True)


def running() -> Facts:
    return changes.started(changes.configured(Facts(), PLAN), process(at=START_S))


def after(
    facts: Facts, code: int | None, at: float, *, ending: str | None = None, lines: tuple[str, ...] = ()
) -> Facts:
    return changes.ended(facts, Ended(exit_code=code, ending=ending, lines=lines), at, restarts=RESTARTS)


def reported(ending: str, code: int) -> Ended:
    return Ended(exit_code=code, ending=ending, pages=12)


def step(facts: Facts, at: float) -> Start | End | Look | Wait:
    return next_step(settle(facts, at)[0], at, timeouts=TIMEOUTS)


def closing(facts: Facts) -> Facts:
    return msgspec.structs.replace(facts, is_closing=True)


def stopped(facts: Facts) -> Facts:
    return changes.wished(facts, Wish.STOP, START_S)


def short(facts: Facts) -> Facts:
    return msgspec.structs.replace(facts, shortage="the disk")


class Daemon(RuleBasedStateMachine):
    """A crawl whose process lives in a world: it may be paused, locked by others, have URLs or not. The daemon acts on
    its steps, is killed, and starts again from its record."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START_S
        self.facts = changes.configured(Facts(), PLAN)
        self.version = 1
        self.pid = 100
        self.alive: int | None = None
        self.command: int | None = None
        """A command that has the lock."""
        self.paused: str | None = None
        self.urls = 3
        self.was_told: list[int] = []
        self.fell_at: float | None = None

    # --- What the shell does.

    def act(self) -> Start | End | Look | Wait:
        self.facts, _ = settle(self.facts, self.now)
        what = next_step(self.facts, self.now, timeouts=TIMEOUTS)
        match what:
            case Start(directory):
                self.start(directory)
            case End(reason=reason, force=force, is_fall=is_fall):
                assert self.facts.crawl_process is not None, "commands are left alone"
                assert force == len(self.was_told), "each time with more force, and never twice the same"
                self.was_told.append(force)
                self.facts = changes.told_to_end(self.facts, reason, force=force, is_fall=is_fall, now=self.now)
            case Look(inside=inside):
                self.look(inside)
            case Wait(until):
                assert until is None or until > self.now, "it never waits for what is over"
        return what

    def start(self, directory: str) -> None:
        facts = self.facts
        assert facts.process is None
        assert facts.record.wish is Wish.RUN
        assert facts.record.rest is None
        assert not any((facts.broken, facts.is_removed, facts.is_closing, facts.shortage))
        falls = facts.record.falls
        if falls and self.fell_at is not None:
            delay_s = min(5.0 * 3.0 ** (len(falls) - 1), 300.0)
            assert self.now >= self.fell_at + delay_s
        self.pid += 1
        self.was_told = []
        self.facts = changes.started(facts, Process(pid=self.pid, directory=directory, began_at=self.now))
        if self.alive is not None or self.command is not None or self.paused is not None:
            self.end(5)  # the lock decides
        else:
            self.alive = self.pid

    def look(self, inside: bool) -> None:
        if self.alive is not None:
            self.facts = changes.started(self.facts, process(self.alive, self.now, foreign=True))
            rest = self.facts.record.rest
            assert not self.facts.record.falls or (rest is not None and rest.why in LASTING)
            self.was_told = []
            self.fell_at = None
            return
        if self.command is not None:
            self.facts = changes.started(self.facts, command(self.command, self.now))
            return
        if not inside:
            self.facts = changes.found_nobody(self.facts)
            assert not self.facts.to_find
            return
        self.fell_at = None if self.paused is not None else self.fell_at
        self.facts = changes.looked(self.facts, Looked(paused=self.paused, waiting_urls=self.urls), self.now)
        assert not self.facts.to_look

    def end(self, code: int | None) -> None:
        assert self.facts.process is not None
        was_drained = self.facts.process.draining
        before = self.facts.record.falls
        self.facts = after(self.facts, code, self.now)
        rest = self.facts.record.rest
        self.fell_at = self.now if rest is not None and rest.why in (Why.CRASHED, Why.HELD) else None
        counts = was_drained is None or was_drained.is_fall
        if code in (0, 3) or not counts or (code == 4 and was_drained is None):
            assert self.facts.record.falls == before
        self.was_told = []

    # --- What happens.

    @rule()
    def acts(self) -> None:
        self.act()

    @rule(seconds=st.sampled_from([0.5, 4.0, 11.0, 31.0, 121.0, 700.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.alive is not None and self.facts.process is not None)
    @rule(code=st.sampled_from([0, 1, 2, 3, 4, -9]))
    def process_ends(self, code: int) -> None:
        assert self.facts.process is not None
        if self.facts.process.pid == self.alive:
            self.alive = None
            self.urls = 0 if code == 0 else self.urls
            self.end(None if self.facts.process.is_foreign else code)

    @precondition(lambda self: self.alive is None and self.command is None and self.facts.process is None)
    @rule()
    def somebody_starts_it(self) -> None:
        self.pid += 1
        self.alive = self.pid
        self.facts = changes.touched(self.facts)

    @precondition(lambda self: self.alive is None and self.command is None)
    @rule()
    def somebody_begins_a_command(self) -> None:
        self.pid += 1
        self.command = self.pid
        self.facts = changes.touched(self.facts)

    @precondition(lambda self: self.command is not None)
    @rule(is_crawl=st.booleans())
    def command_ends_or_is_a_crawl(self, is_crawl: bool) -> None:
        pid, self.command = self.command, None
        is_known = self.facts.process is not None and self.facts.process.pid == pid
        if is_crawl:
            self.alive = pid
            usage = Usage(paused=self.paused, waiting=None, pages=0, memory_bytes=1, open_files=1)
            self.facts = changes.used(self.facts, pid or 0, usage)
            self.was_told = [] if is_known else self.was_told
        elif is_known:
            fell_at = self.fell_at
            self.end(None)
            self.fell_at = fell_at  # the end of a command is no fall of the crawl

    @precondition(lambda self: self.alive is None and self.command is None)
    @rule(paused=st.sampled_from([None, "by night"]), urls=st.sampled_from([0, 2]))
    def somebody_works_on_it(self, paused: str | None, urls: int) -> None:
        self.paused, self.urls = paused, urls
        self.facts = changes.touched(self.facts)

    @rule(wish=st.sampled_from(Wish))
    def is_told(self, wish: Wish) -> None:
        self.facts = changes.wished(self.facts, wish, self.now)
        if wish is Wish.RUN:
            self.fell_at = None

    @rule(is_new=st.booleans())
    def folder_is_read(self, is_new: bool) -> None:
        self.version += is_new
        self.facts = changes.configured(self.facts, msgspec.structs.replace(PLAN, digest=str(self.version)))
        if is_new:
            self.fell_at = None

    @rule()
    def configuration_breaks(self) -> None:
        self.facts = changes.broke(self.facts, ("line 3",))

    @rule()
    def configuration_is_removed(self) -> None:
        self.facts = changes.removed(self.facts)

    @rule(shortage=st.sampled_from([None, "the disk"]))
    def machine_is_measured(self, shortage: str | None) -> None:
        self.facts = msgspec.structs.replace(self.facts, shortage=shortage)

    @rule(memory=st.sampled_from([10, 5000]))
    def crawl_is_measured(self, memory: int) -> None:
        usage = Usage(paused=self.paused, waiting=None, pages=1, memory_bytes=memory, open_files=5)
        self.facts = changes.used(self.facts, self.alive or 0, usage)

    @rule(in_order=st.booleans(), machine_too=st.booleans())
    def daemon_is_replaced(self, in_order: bool, machine_too: bool) -> None:
        if in_order:
            self.facts = closed(self.facts, self.now)
        stored = msgspec.json.decode(msgspec.json.encode(self.facts.record), type=Record)
        if machine_too:
            self.alive = self.command = None
        self.facts = changes.configured(Facts(record=stored), msgspec.structs.replace(PLAN, digest=str(self.version)))
        self.was_told = []
        if self.alive is not None:
            known = any(run.pid == self.alive and run.how is None for run in stored.runs)
            found = process(self.alive, self.now, foreign=not known)
            self.facts = changes.started(self.facts, found)
            self.fell_at = None
        elif self.command is not None:
            self.facts = changes.started(self.facts, command(self.command, self.now))
        else:
            self.facts = changes.missed_end(self.facts, None, self.now)

    # --- What always holds.

    @invariant()
    def history_is_bounded(self) -> None:
        assert len(self.facts.record.runs) <= MAX_RUNS
        assert len(self.facts.record.falls) <= RESTARTS.hold_after

    @invariant()
    def it_always_says_why(self) -> None:
        now = summarize(settle(self.facts, self.now)[0])
        assert now.reason or now.state in ("running", "starting")

    @invariant()
    def it_gets_going_if_nothing_keeps_it(self) -> None:
        """From here, if all is well and nobody interferes, it runs, or there is a good reason."""
        keep = self.__dict__.copy()
        self.was_told = list(self.was_told)
        plan = msgspec.structs.replace(PLAN, digest=str(self.version))
        self.facts = changes.configured(msgspec.structs.replace(self.facts, shortage=None, is_closing=False), plan)
        self.paused = None
        if self.command is not None:
            self.command_ends_or_is_a_crawl(False)
        self.facts = changes.touched(self.facts)
        for _ in range(40):
            match self.act():
                case Wait(until):
                    if self.facts.process is not None and self.facts.process.draining is None:
                        break
                    if self.facts.process is not None and len(self.was_told) == 3:
                        self.alive = None
                        self.end(-9)
                    elif until is None:
                        break
                    else:
                        self.now = until
                case _:
                    pass
        rest = self.facts.record.rest
        runs = self.facts.process is not None and self.alive == self.facts.process.pid
        rests = rest is not None and rest.why in (Why.HELD, Why.LIMIT, Why.STOPPED, Why.COMPLETE)
        assert runs or rests or self.facts.record.wish is Wish.STOP
        if rest is not None and rest.why is Why.COMPLETE and not runs:
            assert self.urls == 0 or self.alive is None
        self.__dict__.update(keep)


def test_random_histories() -> None:
    run_state_machine_as_test(Daemon, settings=settings(max_examples=200, stateful_step_count=40))


def test_a_crawl_starts_at_once_and_a_stopped_one_does_not() -> None:
    facts = changes.configured(Facts(), PLAN)
    assert step(facts, START_S) == Start(PLAN.directory)
    assert step(changes.wished(facts, Wish.STOP, START_S), START_S) == Wait(None)


@pytest.mark.parametrize(
    ("ended", "why", "number"),
    [
        pytest.param(Ended(exit_code=1, is_disk_full=True), "the disk is full", errno.ENOSPC, id="full"),
        pytest.param(Ended(exit_code=5, is_read_only=True), "the disk takes no writes", errno.EROFS, id="read-only"),
    ],
)
def test_a_disk_that_takes_no_writes_is_no_crash_and_is_tried_again_for_as_long_as_it_takes(
    ended: Ended, why: str, number: int
) -> None:
    facts, now = running(), START_S
    ended = msgspec.structs.replace(ended, lines=(f"onceover: {why}",))
    for _ in range(2 * RESTARTS.hold_after):
        facts = changes.ended(facts, ended, now + 1, restarts=RESTARTS)
        told = summarize(facts)
        assert (told.state, told.lines) == ("short", ended.lines)
        assert told.reason is not None
        assert told.reason.startswith(f"{why}: ")
        assert facts.record.runs[-1].how == f"failed because {why}"
        unstarted = summarize(changes.not_started(facts, OSError(number, "no"), now + 1, restarts=RESTARTS))
        assert (unstarted.state, unstarted.reason) == ("short", told.reason)
        assert facts.record.falls == ()
        assert isinstance(step(facts, now + 2), Wait)
        now += 1 + TRY_AGAIN_S
        assert isinstance(step(facts, now), Start)
        facts = changes.started(settle(facts, now)[0], process(at=now))
    facts = changes.ended(facts, Ended(exit_code=1), now + 1, restarts=RESTARTS)
    assert summarize(facts).state == "crashed"


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_crawl_whose_directory_is_gone_waits_for_it_until_somebody_starts_it(is_seen: bool) -> None:
    facts = running()
    if is_seen:
        usage = Usage(paused=None, waiting=None, pages=1, memory_bytes=0, open_files=0)
        facts = changes.used(facts, 7, usage)
    facts = after(facts, 1, START_S + 1, ending=None if is_seen else "failed")
    assert facts.record.begun_in == PLAN.directory
    facts, now = changes.gone(facts, START_S + 2), START_S + 2
    told = summarize(facts)
    assert (told.state, told.reason) == ("short", GONE)
    assert isinstance(step(facts, now + TRY_AGAIN_S - 1), Wait)
    assert step(facts, now + TRY_AGAIN_S) == Start(PLAN.directory)
    assert settle(facts, now + TRY_AGAIN_S)[0].record.begun_in == PLAN.directory
    wanted = changes.wished(facts, Wish.RUN, now)
    assert step(wanted, now) == Start(PLAN.directory)
    assert wanted.record.begun_in is None
    again = changes.wished(changes.wished(facts, Wish.STOP, now), Wish.RUN, now)
    assert again.record.begun_in == PLAN.directory
    full = changes.not_started(facts, OSError(errno.ENOSPC, "no"), now, restarts=RESTARTS)
    assert changes.wished(full, Wish.RUN, now).record.begun_in == PLAN.directory


def test_a_run_of_a_schedule_whose_disk_is_away_waits_until_that_is_there_or_somebody_starts_it() -> None:
    facts, now = running(), START_S + 2
    facts = changes.used(facts, 7, Usage(paused=None, waiting=None, pages=1, memory_bytes=0, open_files=0))
    facts = changes.gone(after(facts, 0, START_S + 1), now, RUNS_GONE)
    told = summarize(facts)
    assert (told.state, told.reason) == ("short", RUNS_GONE)
    assert isinstance(step(facts, now + TRY_AGAIN_S), Start)
    assert changes.wished(facts, Wish.RUN, now).record.begun_in is None


def test_a_crawl_that_has_not_said_anything_has_not_begun() -> None:
    silent = Usage(answers=False, paused=None, waiting=None, pages=0, memory_bytes=0, open_files=0)
    facts = after(changes.used(running(), 7, silent), 1, START_S + 1)
    assert facts.record.begun_in is None


def test_a_server_that_is_away_is_no_fault_of_the_crawl_which_is_tried_again_for_as_long_as_it_takes() -> None:
    facts, now = running(), START_S
    for _ in range(2 * RESTARTS.hold_after):
        away = Ended(exit_code=6, lines=("onceover: visited.backend: Redis at redis://b can't be reached",))
        facts = changes.ended(facts, away, now + 1, restarts=RESTARTS)
        told = summarize(facts)
        assert (told.state, told.reason, told.lines) == (
            "short",
            "a server that it needs can't be used now",
            away.lines,
        )
        assert facts.record.runs[-1].how == "could not use a server"
        assert facts.record.falls == ()
        assert isinstance(step(facts, now + 2), Wait)
        now += 1 + TRY_AGAIN_S
        assert isinstance(step(facts, now), Start)
        facts = changes.started(settle(facts, now)[0], process(at=now))


def test_a_process_for_which_the_disk_has_no_room_is_tried_again_too() -> None:
    facts = changes.configured(Facts(), PLAN)
    refused = changes.not_started(facts, OSError(errno.ENOSPC, "No space left"), START_S, restarts=RESTARTS)
    assert (summarize(refused).state, refused.record.falls) == ("short", ())
    other = changes.not_started(facts, OSError(errno.ENOEXEC, "No program"), START_S, restarts=RESTARTS)
    assert summarize(other).state == "crashed"
    assert summarize(other).reason == "its process can't be started: No program"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM])
def test_a_system_that_can_start_no_process_now_is_no_fault_of_the_crawl_which_is_never_held_for_it(
    number: int,
) -> None:
    facts, now = changes.configured(Facts(), PLAN), START_S
    for _ in range(2 * RESTARTS.hold_after):
        facts = changes.not_started(facts, OSError(number, "Too many"), now, restarts=RESTARTS)
        summary = summarize(facts)
        assert (summary.state, summary.until is None, facts.record.falls) == ("short", False, ())
        assert summary.reason is not None
        assert summary.reason.startswith("its process can't be started: Too many; ")
        now += TRY_AGAIN_S
        facts, _ = settle(facts, now)
        assert next_step(facts, now, timeouts=EndTimeouts()) == Start(PLAN.directory)


def test_a_crash_is_followed_by_longer_and_longer_rests_and_then_it_is_held_with_its_last_lines() -> None:
    facts, now, rests = running(), START_S, []
    for _ in range(RESTARTS.hold_after):
        facts = after(facts, 1, now, lines=("ValueError: no", "onceover: failed"))
        waits = step(facts, now)
        assert isinstance(waits, Wait)
        rests.append(None if waits.until is None else waits.until - now)
        if waits.until is not None:
            now = waits.until
            assert isinstance(step(facts, now), Start)
            facts = changes.started(settle(facts, now)[0], process(at=now))
    assert rests == [5, 15, 45, 135, None]
    told = summarize(facts)
    assert (told.state, told.lines) == ("held", ("ValueError: no", "onceover: failed"))
    assert told.reason is not None
    assert "5 times in a row" in told.reason
    # A person, or a new configuration, lets it go.
    assert isinstance(step(changes.wished(facts, Wish.RUN, now), now), Start)
    assert step(changes.configured(facts, PLAN), now) == Wait(None)
    assert isinstance(step(changes.configured(facts, msgspec.structs.replace(PLAN, digest="2")), now), Start)


def test_a_crash_after_a_long_run_counts_as_the_first() -> None:
    facts = running()
    for number in range(1, 20):
        now = START_S + number * (RESTARTS.long_run_s + 10)
        facts = after(facts, -11, now)
        assert step(facts, now) == Wait(now + 5)
        facts = changes.started(settle(facts, now + 5)[0], process(at=now + 5))


@pytest.mark.parametrize(
    ("code", "ending", "state"),
    [
        (0, "complete", "complete"),
        (1, "complete", "complete"),
        (1, "incomplete", "complete"),
        (3, "limit", "limit"),
        (2, None, "held"),
    ],
)
def test_an_ending_that_needs_a_person_or_urls_is_no_crash(code: int, ending: str | None, state: str) -> None:
    facts = after(running(), code, START_S + 5, ending=ending)
    assert summarize(facts).state == state
    assert facts.record.falls == ()
    assert step(facts, START_S + 1e6) == Wait(None)


def test_a_complete_crawl_goes_on_when_somebody_adds_a_url() -> None:
    facts = changes.touched(after(running(), 0, START_S))
    assert step(facts, START_S) == Look(PLAN.directory)
    assert step(changes.looked(facts, Looked(waiting_urls=0), START_S), START_S) == Wait(None)
    assert isinstance(step(changes.looked(facts, Looked(waiting_urls=1), START_S), START_S), Start)


@pytest.mark.parametrize("change", [closing, short])
def test_what_works_on_a_crawl_is_told_to_end_only_if_it_turns_out_to_be_the_crawl(
    change: Callable[[Facts], Facts],
) -> None:
    before = after(running(), 0, START_S)
    facts = changes.started(change(before), command())
    assert step(facts, START_S) == Wait(None)
    assert summarize(facts) == summarize(change(before))
    silent = Usage(answers=False, paused=None, waiting="it does not answer", pages=0, memory_bytes=9999, open_files=999)
    facts = changes.used(facts, 8, silent)
    assert step(facts, START_S) == Wait(None)
    ended = after(facts, None, START_S + 1)
    assert (ended.process, ended.to_look, ended.record.rest) == (None, True, before.record.rest)
    facts = changes.used(facts, 8, msgspec.structs.replace(silent, answers=True))
    assert isinstance(step(facts, START_S), End)
    assert summarize(facts).state == "ending"


@pytest.mark.parametrize("change", [changes.removed, stopped])
def test_who_starts_a_crawl_by_hand_that_was_stopped_or_removed_before_wants_it(
    change: Callable[[Facts], Facts],
) -> None:
    facts = changes.touched(change(after(running(), 3, START_S)))
    assert step(facts, START_S) == Look(PLAN.directory, inside=False)
    assert step(changes.found_nobody(facts), START_S) == Wait(None)
    by_hand = changes.started(facts, process(8, foreign=True))
    assert step(by_hand, START_S) == Wait(None)
    now = summarize(by_hand)
    assert (now.state, now.reason) == ("running", "somebody else has started it, in process 8")
    ended = after(by_hand, None, START_S + 5)
    assert (step(ended, START_S + 5), summarize(ended)) == (Wait(None), summarize(change(after(running(), 3, START_S))))
    assert isinstance(step(change(by_hand), START_S), End), "but not who comes later"


@pytest.mark.parametrize("change", [changes.removed, stopped])
def test_a_daemon_that_dies_before_it_ends_a_run_by_hand_that_is_not_wanted_any_more_lets_the_next_one_do_so(
    change: Callable[[Facts], Facts],
) -> None:
    by_hand = changes.started(changes.configured(Facts(), PLAN), process(8, foreign=True))
    stored = msgspec.json.decode(msgspec.json.encode(change(by_hand).record), type=Record)
    next_daemon = Facts(record=stored)
    next_daemon = change(next_daemon) if change is changes.removed else changes.configured(next_daemon, PLAN)
    assert isinstance(step(changes.started(next_daemon, process(8, foreign=True)), START_S), End)
    assert step(changes.started(next_daemon, process(9, foreign=True)), START_S) == Wait(None), "somebody else's"
    ended = after(changes.started(next_daemon, process(8, foreign=True)), None, START_S + 5)
    again = changes.started(ended, process(8, foreign=True))
    assert step(again, START_S + 9) == Wait(None), "who starts it again wants it"
    assert changes.missed_end(next_daemon, None, START_S).record.unwanted_pid is None


@pytest.mark.parametrize(("code", "state"), [(2, "held"), (3, "limit"), (4, "stopped")])
def test_a_crawl_that_waits_for_a_person_does_so_again_when_somebody_has_run_it_by_hand(code: int, state: str) -> None:
    rests = after(running(), code, START_S, ending="stopped" if code == 4 else None)
    by_hand = changes.started(changes.touched(rests), process(8, foreign=True))
    assert summarize(by_hand).state == "running"
    ended = after(by_hand, None, START_S + 5)
    assert (step(ended, START_S + 5), summarize(ended)) == (Wait(None), summarize(rests))
    assert summarize(ended).state == state


def test_a_crawl_starts_when_the_command_that_works_on_it_has_ended() -> None:
    facts = changes.started(changes.configured(Facts(), PLAN), command())
    assert step(facts, START_S) == Wait(None)
    now = summarize(facts)
    assert (now.state, now.reason) == ("starting", "it waits for the end of a command that works on its directory")
    ended = changes.looked(after(facts, None, START_S), Looked(waiting_urls=3), START_S)
    assert isinstance(step(ended, START_S), Start)


def test_a_crawl_that_comes_back_to_its_pages_is_complete_only_if_its_own_process_says_so() -> None:
    plan = msgspec.structs.replace(PLAN, comes_back=True)
    assert step(changes.configured(after(running(), 0, START_S), plan), START_S) == Wait(None)
    facts = changes.configured(Facts(), plan)
    paused = changes.looked(facts, Looked(paused="by night", waiting_urls=0), START_S)
    assert isinstance(step(changes.looked(changes.touched(paused), Looked(waiting_urls=0), START_S), START_S), Start)
    by_hand = after(changes.started(facts, process(foreign=True)), None, START_S + 5, ending="complete")
    assert isinstance(step(changes.looked(by_hand, Looked(waiting_urls=0), START_S + 5), START_S + 5), Start)
    by_hand = after(changes.started(facts, process(foreign=True)), 0, START_S + 5)
    assert isinstance(step(by_hand, START_S + 5), Start)
    missed = changes.missed_end(
        changes.configured(Facts(record=running().record), plan), reported("complete", 0), START_S
    )
    assert isinstance(step(missed, START_S), Start)


def test_a_complete_crawl_goes_on_when_its_configuration_has_changed() -> None:
    facts = after(running(), 0, START_S)
    assert isinstance(step(changes.configured(facts, msgspec.structs.replace(PLAN, digest="2")), START_S), Start)


def test_a_start_that_is_refused_because_somebody_else_runs_the_crawl_is_no_crash() -> None:
    facts = after(running(), 5, START_S)
    assert isinstance(step(facts, START_S), Look)
    facts = changes.started(facts, process(8, foreign=True))
    assert (summarize(facts).state, facts.record.falls) == ("running", ())


def test_a_paused_crawl_waits_for_whoever_resumes_it() -> None:
    facts = after(running(), 5, START_S, lines=("is paused",))
    assert isinstance(step(facts, START_S), Look)
    facts = changes.looked(facts, Looked(paused="by night", waiting_urls=3), START_S)
    assert (summarize(facts).state, summarize(facts).reason) == ("paused", "by night")
    assert step(facts, START_S + 1e6) == Wait(None)
    facts = changes.looked(changes.touched(facts), Looked(waiting_urls=3), START_S)
    assert isinstance(step(facts, START_S), Start)


def test_who_stops_or_starts_a_crawl_reads_at_once_what_becomes_of_it() -> None:
    stopped = changes.wished(running(), Wish.STOP, START_S)
    assert (summarize(stopped).state, summarize(stopped).reason) == ("ending", "it was stopped")
    told = changes.told_to_end(stopped, "it was stopped", force=0, is_fall=False, now=START_S)
    assert summarize(told) == summarize(stopped)
    again = summarize(changes.wished(told, Wish.RUN, START_S))
    assert (again.state, again.reason) == ("ending", "it was stopped; it starts again afterwards")
    assert summarize(changes.wished(stopped, Wish.RUN, START_S)).state == "running"


def test_who_pauses_or_resumes_a_crawl_reads_at_once_what_becomes_of_it() -> None:
    facts = after(running(), 0, START_S)
    paused = changes.was_paused(facts, "by night", START_S)
    assert (summarize(paused).state, summarize(paused).reason) == ("paused", "by night")
    resumed = changes.was_paused(paused, None, START_S)
    assert summarize(resumed).state == "starting"
    assert step(resumed, START_S) == Look(PLAN.directory)
    runs = changes.was_paused(running(), "by night", START_S)
    assert summarize(runs).state == "paused"
    assert summarize(changes.was_paused(runs, None, START_S)).state == "running"
    usage = Usage(paused="by night", waiting="paused: by night", pages=0, memory_bytes=1, open_files=1)
    goes_on = summarize(changes.was_paused(changes.used(runs, 7, usage), None, START_S))
    assert (goes_on.state, goes_on.reason) == ("running", None)


def test_a_paused_crawl_stays_paused_when_its_process_ends_with_the_daemon() -> None:
    facts = msgspec.structs.replace(changes.was_paused(running(), "by night", START_S), is_closing=True)
    facts = changes.told_to_end(facts, "the daemon ends", force=0, is_fall=False, now=START_S)
    facts = after(facts, 4, START_S)
    again = changes.configured(Facts(record=facts.record), PLAN)
    assert (summarize(again).state, summarize(again).reason) == ("paused", "by night")
    assert step(again, START_S) == Wait(None)
    # Somebody may have resumed it just before.
    facts = msgspec.structs.replace(facts, is_closing=False)
    assert step(facts, START_S) == Look(PLAN.directory)
    assert isinstance(step(changes.looked(facts, Looked(waiting_urls=3), START_S), START_S), Start)


def test_a_paused_crawl_that_crashes_is_paused_and_not_restarted() -> None:
    facts = after(changes.was_paused(running(), "by night", START_S), -9, START_S)
    assert step(facts, START_S) == Look(PLAN.directory)
    facts = changes.looked(facts, Looked(paused="by night", waiting_urls=3), START_S)
    assert summarize(facts).state == "paused"
    assert step(facts, START_S + 1e6) == Wait(None)


def test_who_is_stopped_by_somebody_else_stays_stopped_but_not_if_the_daemon_ends_in_that_moment() -> None:
    facts = after(running(), 4, START_S)
    assert summarize(facts).until is None, "it does not go on by itself"
    assert step(facts, START_S) == Wait(START_S + STOPPED_GRACE_S)
    later, notes = settle(facts, START_S + STOPPED_GRACE_S)
    assert later.record.wish is Wish.STOP
    assert "somebody else" in notes[0]
    assert summarize(later) == msgspec.structs.replace(
        summarize(later), state="stopped", reason="somebody has stopped it"
    )
    shut_down = closed(facts, START_S + 1)
    again = changes.configured(Facts(record=shut_down.record), PLAN)
    assert isinstance(step(again, START_S + 60), Start)


@pytest.mark.parametrize("is_ending", [False, True])
def test_what_a_command_has_stopped_stays_stopped_also_if_the_daemon_ends_or_is_killed_in_that_moment(
    is_ending: bool,
) -> None:
    facts = running()
    if is_ending:
        facts = changes.told_to_end(facts, "the daemon ends", force=0, is_fall=False, now=START_S)
    stopped = changes.ended(facts, reported("stopped", 4), START_S, restarts=RESTARTS)
    missed = changes.missed_end(changes.configured(Facts(record=running().record), PLAN), reported("stopped", 4), 0.0)
    for each in (closed(stopped, START_S + 1), missed):
        again = changes.configured(Facts(record=each.record), PLAN)
        assert step(again, START_S + 60) == Wait(None)
        assert (summarize(again).state, summarize(again).reason) == ("stopped", "somebody has stopped it")
        assert isinstance(step(changes.wished(again, Wish.RUN, START_S), START_S), Start)


@pytest.mark.parametrize("what", ["stop", "shortage", "close", "remove"])
def test_a_process_is_told_to_end_for_a_reason_and_again_with_more_force(what: str) -> None:
    facts = running()
    match what:
        case "stop":
            facts = changes.wished(facts, Wish.STOP, START_S)
        case "shortage":
            facts = msgspec.structs.replace(facts, shortage="its disk is full")
        case "close":
            facts = msgspec.structs.replace(facts, is_closing=True)
        case _:
            facts = changes.removed(facts)
    now, forces = START_S, []
    while isinstance(told := step(facts, now), End):
        forces.append(told.force)
        facts = changes.told_to_end(facts, told.reason, force=told.force, is_fall=told.is_fall, now=now)
        waits = step(facts, now)
        assert isinstance(waits, Wait)
        now = now if waits.until is None else waits.until
    assert forces == [0, 1, 2]
    assert now - START_S == TIMEOUTS.finishing_s + TIMEOUTS.dropping_s
    ended = after(facts, -9, now)
    assert ended.record.falls == ()
    assert ended.record.rest is None


@pytest.mark.parametrize(("memory", "files", "word"), [(1001, 5, "of memory"), (10, 101, "open files")])
def test_a_crawl_that_takes_too_much_is_restarted_like_one_that_crashes(memory: int, files: int, word: str) -> None:
    usage = Usage(paused=None, waiting=None, pages=5, memory_bytes=memory, open_files=files)
    facts = changes.used(running(), 7, usage)
    told = step(facts, START_S)
    assert isinstance(told, End)
    assert word in told.reason
    facts = changes.told_to_end(facts, told.reason, force=0, is_fall=told.is_fall, now=START_S)
    facts = after(facts, 4, START_S + 1, lines=("5.0 s · 100 pages",))
    assert (summarize(facts).reason, summarize(facts).lines) == (told.reason, ())
    assert step(facts, START_S + 1) == Wait(START_S + 6)
    assert isinstance(step(facts, START_S + 6), Start)


def test_a_broken_configuration_ends_no_process_and_starts_none() -> None:
    facts = changes.broke(running(), ("a.toml:3: no",))
    assert step(facts, START_S) == Wait(None)
    facts = after(facts, 0, START_S)
    assert summarize(facts).lines == ("a.toml:3: no",)
    assert step(changes.broke(Facts(), ("a.toml:3: no",)), START_S) == Wait(None)


def test_what_a_process_fetched_is_remembered_after_its_end() -> None:
    facts = running()
    assert facts.pages == 0
    usage = changes.Usage(paused=None, waiting=None, pages=5, memory_bytes=1, open_files=1)
    facts = changes.used(facts, 7, usage)
    assert facts.pages == 5
    killed = changes.ended(facts, Ended(exit_code=-9), START_S, restarts=RESTARTS)
    assert killed.pages == 5  # as it last said
    complete = changes.ended(facts, reported("complete", 0), START_S, restarts=RESTARTS)
    assert complete.pages == 12
    assert changes.started(complete, process(8)).pages == 0
    missed = changes.missed_end(Facts(record=running().record), reported("complete", 0), START_S)
    assert missed.pages == 12


def test_a_crawl_that_completed_while_no_daemon_ran_is_not_started() -> None:
    record = running().record
    complete = changes.missed_end(changes.configured(Facts(record=record), PLAN), reported("complete", 0), START_S)
    assert summarize(complete).state == "complete"
    killed = changes.missed_end(changes.configured(Facts(record=record), PLAN), None, START_S)
    assert isinstance(step(killed, START_S), Start)
    assert killed.record.runs[-1].how == "ended while no daemon ran"
    stopped = changes.missed_end(changes.configured(Facts(record=record), PLAN), reported("signal", 4), START_S)
    assert isinstance(step(stopped, START_S), Start)


def test_the_history_is_bounded() -> None:
    facts = changes.configured(Facts(), PLAN)
    for pid in range(1, 3 * MAX_RUNS):
        facts = changes.started(facts, process(pid))
        facts = after(facts, 0, START_S + pid)
    assert [run.pid for run in facts.record.runs] == list(range(2 * MAX_RUNS, 3 * MAX_RUNS))


def test_a_clock_that_is_set_back_prolongs_no_rest_and_no_end() -> None:
    crashed = after(running(), 1, START_S)
    day_s = 86_400.0
    settled, _ = settle(crashed, START_S - day_s)
    assert step(settled, START_S - day_s) == Wait(START_S - day_s + RESTARTS.first_delay_s)
    assert isinstance(step(settled, START_S - day_s + RESTARTS.first_delay_s), Start)
    told = changes.told_to_end(running(), "it was stopped", force=0, is_fall=False, now=START_S)
    assert step(told, START_S - day_s) == Wait(START_S - day_s + TIMEOUTS.finishing_s)


@pytest.mark.parametrize(("back_s", "next_s"), [(60.0, 3600.0), (86_400.0, 3600.0 - 86_400.0)])
def test_a_schedule_goes_on_when_the_clock_is_set_back_and_a_small_step_repeats_nothing(
    back_s: float, next_s: float
) -> None:
    plan = msgspec.structs.replace(PLAN, next_tick=lambda moment: (moment // 3600 + 1) * 3600)
    began = settle(changes.configured(Facts(record=Record(ticked_at=START_S)), plan), START_S)[0]
    assert began.record.ticked_at == START_S
    assert step(began, START_S - back_s) == Wait(START_S + next_s)
