"""What is told when the folder was read again."""

from typing import Literal

import pytest

from crawler.control.replies import Reconfigured, Refusal, SettingChange
from crawler.serve.reloading import ChangeForm, changed_crawl, tell, with_answer
from crawler.wiring.configuration import load

CHANGED = ChangeForm(
    name="a", how="changed", at_once=("daemon.keep_runs is 3; it was unset",), at_next_start=("x", "y")
)


def change(key: str, reason: str | None) -> SettingChange:
    holds: Literal["now", "restart"] = "now" if reason is None else "restart"
    return SettingChange(key=key, was="1", now="2", text=f"{key} is 2; it was 1", holds=holds, reason=reason)


def test_what_a_running_crawl_takes_over_holds_at_once() -> None:
    changes = [change("daemon.keep_runs", "no"), change("fetch.a", None), change("fetch.b", "its files are open")]
    answer = Reconfigured(running=True, dry_run=False, file="a.toml", changes=changes, new_seeds=2)
    told = with_answer(CHANGED, answer)
    assert told.at_once == (*CHANGED.at_once, "fetch.a is 2; it was 1", "2 new seeds are added")
    assert told.at_next_start == ("fetch.b is 2; it was 1 (its files are open)",)


def test_a_crawl_that_refuses_or_does_not_answer_changes_when_it_starts_again() -> None:
    assert with_answer(CHANGED, None) == CHANGED
    told = with_answer(CHANGED, Refusal("its disk is full"))
    assert told.at_once[-1] == "nothing else: its disk is full"
    assert told.at_next_start == CHANGED.at_next_start


def test_all_of_a_change_holds_at_once_if_the_crawl_does_not_run(caplog: pytest.LogCaptureFixture) -> None:
    before = load(None, tables=[("test", {"crawl.seeds": ["http://a.test/"]})])
    values = {"crawl.seeds": ["http://a.test/"], "fetch.concurrency": 7, "daemon.keep_runs": 3}
    after = load(None, tables=[("test", values)])
    idle = changed_crawl("a", before, after, is_running=False)
    assert len(idle.at_once) == 2
    assert idle.at_next_start == ()
    running = changed_crawl("a", before, after, is_running=True)
    assert [line.partition(" ")[0] for line in running.at_once] == ["daemon.keep_runs"]
    assert [line.partition(" ")[0] for line in running.at_next_start] == ["fetch.concurrency"]
    with caplog.at_level("INFO"):
        tell(running, is_running=True)
    assert "this holds when the crawl starts again" in caplog.text
    assert changed_crawl("a", before, before, is_running=True).at_next_start == ("its seeds have changed",)
    assert changed_crawl("a", None, after, is_running=False).at_once == ("it can be used again",)


@pytest.mark.parametrize(
    ("how", "is_running", "told"),
    [
        ("broken", True, "a: broken\n    it is wrong"),
        ("broken", False, ""),
        ("added", False, "a: added"),
        ("removed", True, ""),
        ("removed", False, ""),
    ],
)
def test_what_the_keeper_of_a_crawl_logs_is_not_logged_twice(
    caplog: pytest.LogCaptureFixture, how: str, is_running: bool, told: str
) -> None:
    with caplog.at_level("INFO"):
        tell(ChangeForm(name="a", how=how, at_once=("it is wrong",), at_next_start=()), is_running=is_running)
    assert "".join(each.getMessage() for each in caplog.records) == told
