"""Whether the loops over the links of a page do the same in C and in Python."""

from collections.abc import Callable
from itertools import count, islice
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.discover.links import bulk
from crawler.discover.links.judgement import ANY_DEPTH, Judgement
from crawler.discover.scope import ScopeRefusal
from crawler.discover.traps import Trap
from crawler.page import Link, LinkKind
from crawler.url.urls import BadUrl, Target, UrlReader

BASE = "https://example.org/"


def links(*hrefs: str) -> list[Link]:
    return [Link(href, LinkKind.LINK, f"link {number}") for number, href in enumerate(hrefs)]


def target(href: str) -> Target:
    found = UrlReader().read(href, BASE)
    assert isinstance(found, Target)
    return found


@pytest.fixture(params=["best", "python"], autouse=True)
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(bulk, "group_list", bulk.group_in_python)
        monkeypatch.setattr(bulk, "look_up", bulk.look_up_in_python)
        monkeypatch.setattr(bulk, "judge", bulk.judge_in_python)
        monkeypatch.setattr(bulk, "divide", bulk.divide_in_python)
        monkeypatch.setattr(bulk, "follow", bulk.follow_in_python)


def test_links_that_differ_only_in_their_fragments_are_one_group() -> None:
    given = links("a", "b#x", "a#1", "a#2", "b", "", "#y", "a##")
    assert bulk.group_list(given) == ([0, 1, 5], ["a", "b", ""], [4, 2, 2])


def test_white_space_before_a_fragment_belongs_to_the_url() -> None:
    given = links("a #x", "a", "a #y", "a?b\t#", " #x")
    assert bulk.group_list(given) == (
        [0, 1, 3, 4],
        ["a #", "a", "a?b\t#", " #"],
        [2, 1, 1, 1],
    )


def test_a_link_of_another_kind_begins_a_group_of_its_own() -> None:
    link, embed = LinkKind.LINK, LinkKind.EMBED
    kinds = [link, link, embed, link, link]
    given = [Link(href, kind, str(number)) for number, (href, kind) in enumerate(zip("aaaba", kinds, strict=True))]
    firsts, hrefs, counts = bulk.group_list(given)
    assert firsts == [0, 2, 3, 4]
    assert hrefs == ["a", "a", "b", "a"]
    assert counts == [2, 1, 1, 1]


_GROUPED = st.lists(st.sampled_from(["a", "b", "é", "#", " ", "\0", "\ud800", "abcdefgh", "x" * 2047]), max_size=3).map(
    "".join
)


@given(st.lists(st.tuples(_GROUPED, st.sampled_from([LinkKind.LINK, LinkKind.EMBED])), max_size=60))
def test_compiled_code_groups_as_python_does(given: list[tuple[str, LinkKind]]) -> None:
    compiled = pytest.importorskip("crawler.discover.links._bulk")
    made = [Link(href, kind, str(number)) for number, (href, kind) in enumerate(given)]
    assert compiled.group_links(made) == bulk.group_in_python(made)


def test_links_stay_alone_if_a_page_chose_them_to_be_slow_to_group() -> None:
    compiled = pytest.importorskip("crawler.discover.links._bulk")
    places, chosen = 4096, 600

    def place(href: str) -> int:  # as the compiled code computes it for eight bytes
        mixed = (8 ^ int.from_bytes(href.encode(), "little")) * 0x9E3779B97F4A7C15 % 2**64
        return (mixed ^ mixed >> 32) % places

    near = list(islice((href for href in map("{:08}".format, count()) if place(href) < 64), chosen))
    firsts, bare, counts = compiled.group_links(links(*near, *near))
    assert bare[:chosen] == near
    assert len(firsts) > chosen
    assert sum(counts) == 2 * chosen


def test_the_first_dict_that_has_an_href_answers() -> None:
    a, b, c = (Judgement(target(href)) for href in "abc")
    assert bulk.look_up(["a", "x", "b", "a"], ({"a": a}, {"a": c, "b": b})) == ([a, None, b, a], [1])
    assert bulk.look_up(["a", "x"], ()) == ([None, None], [0, 1])
    assert bulk.look_up([], ({"a": a},)) == ([], [])


def test_hrefs_are_judged_by_scope_and_then_by_traps() -> None:
    out, deep, trapped = target("//out.test/"), target("deep"), target("trapped")
    inside, home = target("a"), target("")
    told: dict[Target, tuple[ScopeRefusal | None, int | None]] = {
        out: (ScopeRefusal.OUT_OF_SCOPE, None),
        deep: (None, 3),
    }

    def trap_of(given: Target) -> Trap | None:
        assert given is not out
        return Trap.CALENDAR if given is trapped else None

    def judge(given: Target) -> tuple[ScopeRefusal | None, int | None]:
        return told.get(given, (ScopeRefusal.PORT if given.path == "/port" else None, None))

    hrefs = ["a", "//out.test/", "deep", "trapped", "mailto:x", "", ""]
    targets: list[Target | BadUrl] = [inside, out, deep, trapped, BadUrl.SCHEME, home, out]
    assert bulk.judge(hrefs, targets, judge, False, trap_of) == [
        Judgement(inside, allowed=inside),
        Judgement(out, ScopeRefusal.OUT_OF_SCOPE, outside=out),
        Judgement(deep, None, 3, deep),
        Judgement(trapped, Trap.CALENDAR),
        Judgement(BadUrl.SCHEME),
        Judgement(home),
        Judgement(out, ScopeRefusal.OUT_OF_SCOPE),
    ]
    port, beyond = target("/port"), msgspec.structs.replace(inside, canonical="https://example.org/\xe9\ud800")
    assert bulk.judge(["/port", "b"], [port, beyond], judge, False, trap_of) == [
        Judgement(port, ScopeRefusal.PORT),
        Judgement(beyond),
    ]


def test_hrefs_may_be_judged_by_the_sites_where_they_lead() -> None:
    asked: list[str] = []

    def judge(site: str) -> tuple[ScopeRefusal | None, int | None]:
        asked.append(site)
        return None, 7

    inside = target("a")
    assert bulk.judge(["a"], [inside], judge, True, lambda _: None) == [Judgement(inside, None, 7, inside)]
    assert asked == ["org,example"]


def test_hrefs_are_divided_by_how_they_begin() -> None:
    hrefs = ["https://a", "http://a", "/b", "c", "x" * 9, "x" * 10, "HTTP:d", "http:e", "?g", "", "https:/h", "hf", "H"]
    judgements = [Judgement(BadUrl.INVALID, max_depth=number) for number in range(len(hrefs))]
    absolute, rooted, relative, odd = bulk.divide(hrefs, judgements, 9)
    assert (absolute, rooted) == ({hrefs[0]: judgements[0], hrefs[1]: judgements[1]}, {"/b": judgements[2]})
    assert relative == {hrefs[place]: judgements[place] for place in (3, 4, 11, 12)}
    assert odd == hrefs[6:11]


_BEGINNINGS = st.lists(
    st.sampled_from(["http", "s", ":", "/", "//", "h", "H", "?", "é", "\ud800", "@", " "]), max_size=5
)
_TOLD = st.tuples(st.sampled_from([None, *ScopeRefusal]), st.sampled_from([None, 0, 5]))


@given(
    st.lists(st.tuples(_BEGINNINGS.map("".join), st.sampled_from([*"abcé", BadUrl.SCHEME]))),
    st.dictionaries(st.sampled_from("abcé"), _TOLD),
    st.booleans(),
    st.integers(0, 9),
)
def test_compiled_code_judges_and_divides_as_python_does(
    given: list[tuple[str, str | BadUrl]],
    told: dict[str, tuple[ScopeRefusal | None, int | None]],
    by_site: bool,
    longest: int,
) -> None:
    hrefs = [href for href, _ in given]
    targets = [meant if isinstance(meant, BadUrl) else Target(meant, meant, "", meant, "", "") for _, meant in given]

    def judge(asked: Target | str) -> tuple[ScopeRefusal | None, int | None]:
        return told.get(asked if isinstance(asked, str) else asked.url, (None, None))

    def trap_of(asked: Target) -> Trap | None:
        return Trap.CALENDAR if asked.url == "b" else None

    judgements = bulk.judge(hrefs, targets, judge, by_site, trap_of)
    assert judgements == bulk.judge_in_python(hrefs, targets, judge, by_site, trap_of)
    assert bulk.divide(hrefs, judgements, longest) == bulk.divide_in_python(hrefs, judgements, longest)


def test_links_are_followed_up_to_one_that_another_rule_has_to_judge() -> None:
    hrefs = ("a", "b", "a?utm_source=x", "deep", "refused", "c", "out")
    judgements = [Judgement(target(href), allowed=target(href)) for href in hrefs]
    judgements[3] = Judgement(target("deep"), max_depth=3, allowed=target("deep"))
    judgements[6] = Judgement(target("out"))
    given, counts = list(range(10, 17)), [1, 2, 4, 8, 16, 32, 64]
    found: dict[str, int] = {}
    firsts: list[int] = []
    targets: list[Target] = []
    places = [
        bulk.follow(given, counts, judgements, at, 3, (found, {f"{BASE}refused"}, firsts, targets, None))
        for at in (0, 4, 5, 6, 7)
    ]
    assert places == [3, 4, 6, 6, 7]
    assert found == {f"{BASE}a": 5, f"{BASE}b": 2, f"{BASE}c": 32}
    assert firsts == [10, 11, 15]
    assert targets == [target(hrefs[place]) for place in (0, 1, 5)]
    assert bulk.follow(given, counts, judgements, 3, 2, (found, set(), firsts, targets, None)) == 6


def test_links_out_of_scope_are_refused_on_the_way() -> None:
    hrefs = ("a", "out", "known", "out?utm_source=x", "a", "other")
    judgements = [
        Judgement(target(href), ScopeRefusal.OUT_OF_SCOPE, outside=target(href))
        if href != "a"
        else Judgement(target(href), allowed=target(href))
        for href in hrefs
    ]
    given, counts, refused = list(range(6)), [1] * 6, {f"{BASE}known"}
    refusals: list[tuple[str, str]] = []
    found: dict[str, int] = {}
    places = [bulk.follow(given, counts, judgements, at, 3, (found, refused, [], [], refusals)) for at in (0, 3, 4)]
    assert places == [2, 3, 6]
    assert refusals == [(f"{BASE}{href}", ScopeRefusal.OUT_OF_SCOPE) for href in ("out", "other")]
    assert refused == {f"{BASE}{href}" for href in ("known", "out", "other")}
    assert found == {f"{BASE}a": 2}
    assert bulk.follow(given, counts, judgements, 0, 3, (found, {f"{BASE}known"}, [], [], None)) == 1


_JUDGED = st.tuples(
    st.sampled_from("abcdr"), st.sampled_from("iox"), st.sampled_from([2, ANY_DEPTH]), st.integers(1, 5)
)


@given(st.lists(_JUDGED, max_size=30), st.integers(0, 3), st.integers(0, 40), st.booleans())
def test_compiled_code_follows_as_python_does(
    given: list[tuple[str, str, int, int]], depth: int, first: int, refuses: bool
) -> None:
    compiled = pytest.importorskip("crawler.discover.links._bulk")
    judgements = [
        Judgement(
            target(href),
            ScopeRefusal.OUT_OF_SCOPE if where == "o" else None,
            most,
            target(href) if where == "i" else None,
            target(href) if where == "o" else None,
        )
        for href, where, most, _ in given
    ]
    made, counts = list(range(len(given))), [count for *_, count in given]
    results = []
    for follow in (compiled.follow, bulk.follow_in_python):
        found: dict[str, int] = {f"{BASE}d": 7}
        firsts: list[int] = []
        targets: list[Target] = []
        refused, refusals = {f"{BASE}r"}, [("x", "y")] if refuses else None
        place = follow(made, counts, judgements, first, depth, (found, refused, firsts, targets, refusals))
        place = max(place, first) if first < len(made) else len(made)
        results.append((place, found, list(found), firsts, targets, refused, refusals))
    assert results[0] == results[1]


def _meddling(change: Callable[[], object]) -> Any:
    class Meddler:
        max_depth = ANY_DEPTH

        @property
        def allowed(self) -> Target:
            change()
            return target("a")

    return Meddler()


def test_what_is_read_may_change_the_lists() -> None:
    compiled = pytest.importorskip("crawler.discover.links._bulk")
    given, counts = links("a", "b"), [1, 1]
    judgements: list[Any] = []
    judgements += [_meddling(judgements.clear), _meddling(judgements.clear)]
    found: dict[str, int] = {}
    assert compiled.follow(given, counts, judgements, 0, 1, (found, set(), [], [], None)) == 1
    assert found == {f"{BASE}a": 1}


def test_what_is_read_may_be_of_any_type() -> None:
    """A slot is remembered from one object to the next of its type."""
    compiled = pytest.importorskip("crawler.discover.links._bulk")

    class Slotted:
        __slots__ = ("href", "kind")

        def __init__(self, href: str) -> None:
            self.href, self.kind = href, LinkKind.LINK

    class Asked(Slotted):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            return "asked" if name == "href" else super().__getattribute__(name)

    plain = SimpleNamespace(href="c", kind=LinkKind.LINK)
    given: list[Any] = [Slotted("a"), Slotted("b"), plain, Asked("d"), *links("e"), Slotted("f")]
    assert compiled.group_links(given)[1] == ["a", "b", "c", "asked", "e", "f"]
    incomplete = Slotted("g")
    del incomplete.href
    with pytest.raises(AttributeError):
        compiled.group_links([*given, incomplete])


def test_what_is_collected_may_not_be_in_a_sequence_that_lets_go_of_it() -> None:
    compiled = pytest.importorskip("crawler.discover.links._bulk")
    collected: list[Any] = [{}, set(), [], [], []]
    judgements = [_meddling(collected.clear)] * 2
    with pytest.raises(TypeError):
        compiled.follow(links("a", "b"), [1, 1], judgements, 0, 1, collected)


def test_a_count_that_goes_while_it_is_added_to_is_there_to_the_end() -> None:
    compiled = pytest.importorskip("crawler.discover.links._bulk")
    events: list[str] = []

    class Before:
        def __add__(self, other: object) -> object:
            found.clear()
            return NotImplemented

        def __del__(self) -> None:
            events.append("gone")

    class Count:
        def __radd__(self, before: object) -> int:
            events.append("added")
            return 2

    found: dict[str, Any] = {f"{BASE}a": Before()}
    judgement = Judgement(target("a"), allowed=target("a"))
    assert compiled.follow(links("a"), [Count()], [judgement], 0, 1, (found, set(), [], [], None)) == 1
    assert events == ["added", "gone"]
    assert found == {f"{BASE}a": 2}


@pytest.mark.parametrize(
    ("judgement", "error"),
    [
        (SimpleNamespace(), AttributeError),
        (SimpleNamespace(allowed=target("a"), max_depth=None), TypeError),
        (SimpleNamespace(allowed=None), AttributeError),
        (SimpleNamespace(allowed=None, outside=target("a")), AttributeError),
        (SimpleNamespace(allowed=None, outside=SimpleNamespace(canonical=[], url=""), refusal=""), TypeError),
        (SimpleNamespace(allowed=SimpleNamespace(canonical=[]), max_depth=9), TypeError),
    ],
)
def test_what_is_no_judgement_is_an_error(judgement: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pytest.importorskip("crawler.discover.links._bulk").follow(
            links("a"), [1], [judgement], 0, 1, ({}, set(), [], [], [])
        )


def test_the_first_error_is_kept_when_more_follow() -> None:
    """A look-up in a type that was never asked for the name clears an exception that is set."""
    compiled = pytest.importorskip("crawler.discover.links._bulk")

    class Outside:
        pass

    class Unasked:
        allowed, outside, refusal = None, Outside(), ""

    with pytest.raises(AttributeError, match="canonical"):
        compiled.follow(links("a"), [1], [Unasked()], 0, 1, ({}, set(), [], [], []))


@pytest.mark.parametrize(("hrefs", "dicts"), [("a", ()), (["a"], [{}]), (["a"], ({}, None)), ([[]], ({},))])
def test_what_can_not_be_looked_up_is_an_error(hrefs: Any, dicts: Any) -> None:
    with pytest.raises(TypeError):
        pytest.importorskip("crawler.discover.links._bulk").look_up(hrefs, dicts)


@pytest.mark.parametrize(
    ("href", "target", "told", "error"),
    [
        (None, target("a"), (None, None), TypeError),
        ("a", SimpleNamespace(), (None, None), AttributeError),
        ("a", SimpleNamespace(site="a"), (None, None), AttributeError),
        ("a", SimpleNamespace(site="a", canonical=1), (None, None), TypeError),
        ("a", target("a"), None, TypeError),
        ("a", target("a"), (None,), TypeError),
    ],
)
def test_what_can_not_be_judged_is_an_error(href: Any, target: Any, told: Any, error: type[Exception]) -> None:
    compiled = pytest.importorskip("crawler.discover.links._bulk")
    made_by, by = (Judgement, ScopeRefusal.OUT_OF_SCOPE, ANY_DEPTH), ((lambda _: told), True, (lambda _: None))
    with pytest.raises(error):
        compiled.judge(*made_by, [href], [target], *by)
    with pytest.raises(ValueError, match="each href"):
        compiled.judge(*made_by, [href], [], *by)


def test_what_can_not_be_divided_is_an_error() -> None:
    with pytest.raises(TypeError):
        pytest.importorskip("crawler.discover.links._bulk").divide([None], [None], 9)


@pytest.mark.parametrize("given", [[None], [SimpleNamespace(href=None, kind=1)], [SimpleNamespace(href="a")] * 2, "a"])
def test_what_can_not_be_grouped_is_an_error(given: Any) -> None:
    with pytest.raises((TypeError, AttributeError)):
        pytest.importorskip("crawler.discover.links._bulk").group_links(given)
