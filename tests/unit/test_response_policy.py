"""That servers get the rest that is due to them, and URLs the attempts."""

from itertools import pairwise

import msgspec
import pytest

from crawler.page import Failure, FailureKind, LoadAnswer, NotModified, Page, Redirect, Verdict
from crawler.politeness.pace import Pace
from crawler.politeness.response_policy import Decision, ResponsePolicy, after_head
from frontier import CrawlUrl, Lease

PACE = Pace(min_delay_s=1.0, max_delay_s=30.0, delay_factor=2.0, retry_delay_s=30.0, retry_max_delay_s=3600.0)
POLICY = ResponsePolicy(pace=PACE, max_attempts=4, dead_after=8)
URL = "http://a.test/"


def lease(*, attempt: int = 0, streak: int = 0, pressure: int = 0, dead: str | None = None) -> Lease:
    return Lease(
        url=CrawlUrl(url=URL, canonical=URL, queue_key="test,a", attempt=attempt),
        number=1,
        error_streak=streak,
        pressure=pressure,
        dead=dead,
    )


def page(status: int = 200, *, retry_after: bytes | None = None, cut: str | None = None) -> Page:
    headers = [] if retry_after is None else [(b"Retry-After", retry_after)]
    return Page(
        url=URL,
        status=status,
        headers=headers,
        fetched_at=1e9,
        duration_s=2.0,
        body=b"",
        raw_body=b"",
        truncated=cut,
    )


def redirect(status: int = 301, *, retry_after: bytes | None = None) -> Redirect:
    headers = [] if retry_after is None else [(b"Retry-After", retry_after)]
    return Redirect(url=URL, status=status, headers=headers, fetched_at=1e9, duration_s=2.0, location="/")


def failure(kind: FailureKind) -> Failure:
    return Failure(url=URL, kind=kind, message="", fetched_at=1e9, duration_s=2.0)


def forbidden(verdict: Verdict, held: Lease | None = None, *, own: bool = True, rest_s: float) -> Decision:
    return POLICY.after_disallow(verdict, lease=held or lease(), own=own, rest_s=rest_s)


def after(
    answer: Page | Redirect | NotModified | Failure,
    *,
    attempt: int = 0,
    streak: int = 0,
    pressure: int = 0,
    crawl_delay_s: float | None = None,
) -> Decision:
    held = lease(attempt=attempt, streak=streak, pressure=pressure)
    return POLICY.after(answer, lease=held, crawl_delay_s=crawl_delay_s)


@pytest.mark.parametrize(
    "answer",
    [
        page(),
        page(404),
        page(410),
        page(cut="length"),
        redirect(),
        NotModified(url=URL, status=304, headers=[], fetched_at=1e9, duration_s=2.0),
    ],
)
def test_an_answer_settles_its_url_and_the_host_rests_by_how_long_it_took(
    answer: Page | Redirect | NotModified,
) -> None:
    assert after(answer) == Decision(cooldown_s=4.0)


def test_crawl_delay_lengthens_the_rest() -> None:
    assert after(page(), crawl_delay_s=10.0).cooldown_s == 10.0


@pytest.mark.parametrize("status", [500, 502, 504, 408])
def test_a_url_that_fails_is_tried_again_while_its_host_rests_no_longer_than_the_limit(status: int) -> None:
    decision = after(page(status))
    assert decision.retry_after_s is not None
    assert 22.5 <= decision.retry_after_s <= 37.5
    assert (decision.reason, decision.failed, decision.server_ok) == (f"http-{status}", False, False)
    assert after(page(status), streak=10).cooldown_s == 30.0


@pytest.mark.parametrize("status", [429, 430, 503])
def test_a_host_that_asks_for_it_rests_longer_each_time(status: int) -> None:
    decisions = [after(page(status), pressure=pressure) for pressure in range(12)]
    rests = [decision.cooldown_s for decision in decisions]
    assert rests == sorted(rests)
    assert 8.0 <= rests[0] <= 10.0
    assert rests[-1] == 3600.0
    assert [decision.pressure for decision in decisions] == list(range(1, 13))


def test_a_host_that_answers_well_again_is_trusted_by_and_by() -> None:
    rests = []
    pressure = 5
    while pressure:
        decision = after(page(), pressure=pressure)
        rests.append(decision.cooldown_s)
        pressure = decision.pressure
    assert len(rests) == 5
    assert rests[-1] == 4.0
    for longer_s, shorter_s in pairwise(rests):
        assert 1.6 <= longer_s / shorter_s <= 2.5


@pytest.mark.parametrize("answer", [page(500), failure(FailureKind.TIMEOUT), failure(FailureKind.CONNECT)])
def test_what_is_no_word_of_the_host_changes_nothing_of_how_it_was_asked(answer: Page | Failure) -> None:
    assert after(answer, pressure=3).pressure == 3


def test_a_host_that_asks_for_less_load_by_what_a_rendered_page_loads_rests_too() -> None:
    def loaded(*answers: tuple[int, str | None]) -> Page:
        return msgspec.structs.replace(page(), troubled_loads=tuple(LoadAnswer(*answer) for answer in answers))

    refused = after(loaded((404, None), (429, None)))
    assert (refused.pressure, refused.server_ok, refused.retry_after_s) == (1, True, None)
    assert refused.cooldown_s > after(page()).cooldown_s
    assert after(loaded((503, "120"), (429, "60"))).cooldown_s == 120.0
    assert after(loaded((200, "120"))) == after(page(retry_after=b"120"))
    assert after(loaded((404, None), (500, "soon"))) == after(page())


def test_retry_after_is_kept_by_host_and_url() -> None:
    decision = after(page(503, retry_after=b"120"))
    assert decision.cooldown_s == 120.0
    assert decision.retry_after_s is not None
    assert decision.retry_after_s >= 120.0


@pytest.mark.parametrize(
    "answer",
    [
        page(retry_after=b"120"),
        page(404, retry_after=b"120"),
        page(410, retry_after=b"Sun, 09 Sep 2001 01:48:40 GMT"),
        page(cut="length", retry_after=b"120"),
        *(redirect(status, retry_after=b"120") for status in (301, 302)),
        NotModified(url=URL, status=304, headers=[(b"Retry-After", b"120")], fetched_at=1e9, duration_s=2.0),
    ],
)
def test_a_good_answer_with_retry_after_makes_its_host_rest_so_long_and_is_no_trouble(
    answer: Page | Redirect | NotModified,
) -> None:
    assert after(answer) == Decision(cooldown_s=120.0)
    assert after(answer, pressure=3).pressure == 2


def test_retry_after_of_an_answer_whose_body_can_not_be_read_is_obeyed() -> None:
    broken = msgspec.structs.replace(failure(FailureKind.PROTOCOL), response=page(retry_after=b"120"), answered=True)
    decision = after(broken)
    assert (decision.cooldown_s, decision.pressure) == (120.0, 1)
    useless = msgspec.structs.replace(failure(FailureKind.ENCODING), response=page(retry_after=b"120"), answered=True)
    assert after(useless).cooldown_s == 120.0


def test_what_a_server_sent_of_a_useless_body_counts_for_its_bandwidth() -> None:
    sent = msgspec.structs.replace(page(), raw_body=bytes(60_000))
    useless = msgspec.structs.replace(failure(FailureKind.ENCODING), response=sent, answered=True)
    policy = ResponsePolicy(pace=msgspec.structs.replace(PACE, max_bytes_per_s=1000.0))
    rests = [policy.after(each, lease=lease(), crawl_delay_s=None).cooldown_s for each in (sent, useless)]
    assert rests == [58.0, 58.0]


def test_retry_after_of_a_good_answer_is_obeyed_up_to_the_limit_and_never_shortens_a_rest() -> None:
    assert after(page(retry_after=b"999999")).cooldown_s == PACE.max_retry_after_s
    assert (
        after(page(retry_after=b"1")) == after(page(retry_after=b"soon")) == after(page()) == Decision(cooldown_s=4.0)
    )
    assert after(page(retry_after=b"1"), crawl_delay_s=10.0).cooldown_s == 10.0


def test_a_redirect_that_no_server_was_asked_for_makes_no_host_rest() -> None:
    assert after(msgspec.structs.replace(redirect(307, retry_after=b"120"), asked=False)).cooldown_s == 0.0


def test_a_body_cut_short_is_tried_again() -> None:
    decision = after(page(cut="disconnect"))
    assert decision.reason == "disconnected"
    assert decision.retry_after_s is not None
    assert decision.answered


def test_a_body_always_cut_short_is_done_with_what_came() -> None:
    last = after(page(cut="disconnect"), attempt=3)
    assert (last.failed, last.retry_after_s, last.server_ok, last.answered) == (False, None, False, True)


@pytest.mark.parametrize("answer", [page(500), page(429), failure(FailureKind.TIMEOUT), failure(FailureKind.CONNECT)])
def test_the_last_attempt_settles_a_url_as_failed(answer: Page | Failure) -> None:
    assert after(answer, attempt=2).retry_after_s is not None
    last = after(answer, attempt=3)
    assert (last.failed, last.retry_after_s, last.server_ok) == (True, None, False)
    assert last.reason is not None


@pytest.mark.parametrize("kind", [FailureKind.CONNECT, FailureKind.DNS])
def test_a_host_that_cannot_be_reached_rests_with_its_whole_queue_longer_each_time(kind: FailureKind) -> None:
    rests = [after(failure(kind), streak=streak) for streak in range(7)]
    assert all(decision.cooldown_s == decision.retry_after_s and decision.stays for decision in rests)
    assert rests[0].cooldown_s < 40 < rests[1].cooldown_s < 80 < rests[2].cooldown_s < rests[6].cooldown_s


def test_time_outs_are_held_against_the_host_after_some_in_a_row() -> None:
    for streak in (0, 1):
        alone = after(failure(FailureKind.TIMEOUT), streak=streak)
        assert (alone.stays, alone.cooldown_s <= 30.0) == (False, True)
    opened = after(failure(FailureKind.TIMEOUT), streak=2)
    assert not opened.stays  # it may be to blame
    assert opened.cooldown_s == opened.retry_after_s
    assert opened.cooldown_s > 80.0


def test_a_url_that_has_had_its_attempts_leaves_the_probe_to_another_and_the_host_waits_for_it() -> None:
    last = after(failure(FailureKind.CONNECT), attempt=3, streak=3)
    assert (last.failed, last.stays, last.dead_for_s) == (True, False, 0.0)
    assert last.cooldown_s > 150.0


@pytest.mark.parametrize("kind", [FailureKind.CONNECT, FailureKind.TIMEOUT, FailureKind.TLS])
def test_a_host_is_dead_after_its_failures_and_what_is_left_of_it_is_not_asked_for(kind: FailureKind) -> None:
    dead = after(failure(kind), streak=7)
    assert (dead.failed, dead.retry_after_s, dead.dead_for_s) == (True, None, 3600.0)
    unasked = POLICY.for_dead_host(lease(dead=kind.value, streak=8))
    assert unasked == Decision(cooldown_s=0.0, failed=True, reason=kind.value)
    assert not POLICY.for_dead_host(lease(dead="unreachable", streak=8)).failed


@pytest.mark.parametrize("kind", [FailureKind.TLS, FailureKind.PRIVATE_ADDRESS, FailureKind.BAD_URL])
def test_what_no_other_attempt_cures_is_given_up_at_once(kind: FailureKind) -> None:
    decision = after(failure(kind))
    assert (decision.failed, decision.retry_after_s, decision.reason) == (True, None, kind.value)


@pytest.mark.parametrize("kind", [FailureKind.DNS, FailureKind.PRIVATE_ADDRESS, FailureKind.BAD_URL])
def test_nobody_rests_from_a_request_that_was_never_sent(kind: FailureKind) -> None:
    assert after(failure(kind), streak=7, pressure=2).cooldown_s == 0.0


def test_what_robots_txt_forbids_is_settled_and_costs_no_rest_unless_it_was_asked_for() -> None:
    assert forbidden(Verdict(allowed=False, reason="robots"), rest_s=0.0).cooldown_s == 0.0
    asked = Verdict(allowed=False, reason="robots", asked=True, duration_s=3.0)
    assert POLICY.after_robots_s(asked, crawl_delay_s=None) == 6.0
    assert POLICY.after_robots_s(asked, crawl_delay_s=9.0) == 9.0
    assert POLICY.after_robots_s(msgspec.structs.replace(asked, pause_s=100.0), crawl_delay_s=9.0) == 100.0
    assert forbidden(asked, rest_s=6.0) == Decision(cooldown_s=6.0, host_cooldown_s=6.0, reason="robots")
    assert forbidden(asked, own=False, rest_s=6.0).cooldown_s == 0.0


def test_a_robots_txt_that_cannot_be_had_keeps_the_host_waiting_and_then_gives_up() -> None:
    verdict = Verdict(allowed=False, reason="unreachable", asked=True, duration_s=1.0, retry_after_s=60.0)
    first = forbidden(verdict, rest_s=2.0)
    assert (first.cooldown_s, first.retry_after_s, first.failed, first.server_ok) == (60.0, 60.0, False, False)
    assert first.stays
    for held, dead_for_s in ((lease(attempt=3), 0.0), (lease(streak=7), 3600.0)):
        last = forbidden(verdict, held, rest_s=2.0)
        assert (last.retry_after_s, last.reason, last.server_ok) == (None, "unreachable", False)
        assert (last.failed, last.dead_for_s) == (False, dead_for_s)


@pytest.mark.parametrize("kind", ["dns", "connect", "tls", "timeout"])
def test_a_host_that_robots_txt_found_out_of_reach_fails_for_that_reason(kind: str) -> None:
    verdict = Verdict(allowed=False, reason=kind, asked=True, duration_s=1.0, retry_after_s=60.0)
    for attempt in range(3):
        decision = forbidden(verdict, lease(attempt=attempt), rest_s=2.0)
        assert (decision.retry_after_s, decision.failed) == (60.0, False)
    last = forbidden(verdict, lease(attempt=3), rest_s=2.0)
    assert (last.retry_after_s, last.failed, last.reason, last.server_ok) == (None, True, kind, False)


def test_a_page_cut_by_broken_framing_is_tried_again_for_that() -> None:
    cut = msgspec.structs.replace(page(cut="disconnect"), cut_by=FailureKind.PROTOCOL)
    assert after(cut).reason == "protocol"


def test_a_handshake_that_may_succeed_another_time_is_tried_again() -> None:
    assert after(failure(FailureKind.TLS)).retry_after_s is None
    passing = msgspec.structs.replace(failure(FailureKind.TLS), may_pass=True)
    assert after(passing).retry_after_s is not None
    last = after(passing, attempt=3)
    assert (last.failed, last.reason) == (True, "tls")


def test_a_request_over_a_connection_that_the_server_had_closed_is_repeated_once_after_the_usual_rest() -> None:
    closed = msgspec.structs.replace(failure(FailureKind.DISCONNECTED), kept_closed=True)
    once = msgspec.structs.replace(POLICY, max_attempts=1)
    for policy in (POLICY, once):
        decision = policy.after(closed, lease=lease(), crawl_delay_s=None)
        assert (decision.retry_after_s, decision.stays, decision.cooldown_s) == (0.0, True, 4.0)
        assert (decision.server_ok, decision.failed, decision.reason) == (True, False, "disconnected")
    assert once.after(closed, lease=lease(attempt=1), crawl_delay_s=None).failed
    assert not POLICY.after(closed, lease=lease(attempt=1), crawl_delay_s=None).server_ok


def test_a_last_request_over_a_connection_that_the_server_had_closed_does_not_count() -> None:
    closed = msgspec.structs.replace(failure(FailureKind.DISCONNECTED), kept_closed=True)
    assert after(failure(FailureKind.DISCONNECTED), attempt=3).failed
    assert after(closed, attempt=3).retry_after_s is not None
    assert after(closed, attempt=4).failed


def test_a_challenged_request_is_repeated_once_its_host_has_rested_and_costs_the_host_no_trust() -> None:
    challenged = msgspec.structs.replace(page(403), challenged=True)
    decision = after(challenged)
    assert (decision.retry_after_s, decision.stays, decision.cooldown_s) == (0.0, True, 4.0)
    assert decision.reason == "challenged"
    assert decision.server_ok
    assert not decision.failed


@pytest.mark.parametrize("copy", [{"had_etag": '"x"'}, {"had_last_modified": "Sat, 28 Nov 2026 09:00:00 GMT"}])
def test_a_page_whose_server_takes_its_condition_amiss_is_asked_for_without_once(copy: dict[str, str]) -> None:
    held = msgspec.structs.replace(lease(), url=msgspec.structs.replace(lease().url, **copy))
    for policy in (POLICY, msgspec.structs.replace(POLICY, max_attempts=1)):
        decision = policy.after(page(412), lease=held, crawl_delay_s=None)
        assert (decision.retry_after_s, decision.stays, decision.failed) == (0.0, True, False)
        assert (decision.reason, decision.cooldown_s, decision.server_ok) == ("http-412", 4.0, True)
    again = msgspec.structs.replace(held, url=msgspec.structs.replace(held.url, attempt=1))
    for settled in (again, lease()):
        assert POLICY.after(page(412), lease=settled, crawl_delay_s=None).retry_after_s is None


@pytest.mark.parametrize("status", [405, 404, 503])
def test_a_host_that_refuses_head_is_asked_by_get_and_has_not_failed(status: int) -> None:
    decision = after_head(page(status), after(page(status), attempt=3, streak=1))
    assert (decision.retry_after_s, decision.stays, decision.failed) == (0.0, True, False)
    assert (decision.reason, decision.server_ok, decision.answered) == ("head-refused", True, True)


def test_a_challenged_request_is_repeated_also_if_urls_have_one_attempt_and_never_without_end() -> None:
    challenged = msgspec.structs.replace(page(403), challenged=True)
    once = msgspec.structs.replace(POLICY, max_attempts=1)
    assert once.after(challenged, lease=lease(), crawl_delay_s=None).retry_after_s == 0.0
    assert once.after(challenged, lease=lease(attempt=1), crawl_delay_s=None).retry_after_s is None
    assert after(challenged, attempt=3).retry_after_s is None
