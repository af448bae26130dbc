import gzip
import json
from pathlib import Path

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.url import hrefs
from crawler.url.canonical import canonicalizer
from crawler.url.canonical_rules import DEFAULT_RULES, RULES
from crawler.url.components import UrlComponents
from crawler.url.hosts import is_name
from crawler.url.urls import (
    MAX_URL_LENGTH,
    BadUrl,
    Target,
    UrlReader,
    domain_of,
    host_of,
    join,
    origin_of,
)

BASE = "https://docs.example.org/a/b/page.html?x=1"


def read(href: str, *, rules: tuple[str, ...] = DEFAULT_RULES) -> Target:
    target = UrlReader(rules=rules).read(href, BASE)
    assert isinstance(target, Target), target
    return target


def canonical(url: str, *rules: str) -> str:
    return read(url, rules=rules or DEFAULT_RULES).canonical


def test_every_http_case_of_the_url_standard_is_read_as_it_says(corpora: Path) -> None:
    reader = UrlReader(rules=(), max_length=100_000)
    cases = [case for case in json.loads((corpora / "url/urltestdata.json").read_bytes()) if isinstance(case, dict)]
    judged = 0
    for case in cases:
        base = case.get("base")
        if base is None or base == "about:blank":
            base = "non-special:opaque"
        target = reader.read(case["input"], base)
        if case.get("failure"):
            assert isinstance(target, BadUrl), case
        elif case["protocol"] not in ("http:", "https:"):
            assert target is BadUrl.SCHEME, case
        elif not is_name(case["hostname"]):
            assert target is BadUrl.INVALID_HOST, case
        else:
            assert isinstance(target, Target), case
            credentials = f"{case['username']}{':' if case['password'] else ''}{case['password']}@"
            expected = case["href"].partition("#")[0]
            if credentials != "@":
                expected = expected.replace(credentials, "", 1)
            assert target.url == expected, case
            assert target.host == case["hostname"], case
            assert target.path == case["pathname"] + (case["search"] or ("?" if expected.endswith("?") else "")), case
            judged += 1
    assert judged > 200


def test_every_real_href_becomes_the_url_that_a_browser_makes_of_it(corpora: Path) -> None:
    wrong = []
    with gzip.open(corpora / "url/real-hrefs/hrefs_dev.jsonl.gz") as lines:
        for line in lines:
            case = json.loads(line)
            if join(case["base"], case["href"]) != case["expected"] and (case["expected"] or "http").startswith("http"):
                wrong.append(case)
    assert wrong == []


def test_fragment_and_credentials_are_never_fetched() -> None:
    assert read("https://user:secret@example.org/x?q=a@b#part").url == "https://example.org/x?q=a@b"
    assert read("#part").url == BASE
    assert read("").url == BASE


@pytest.mark.parametrize(
    ("href", "refused"),
    [
        ("mailto:a@example.org", BadUrl.SCHEME),
        ("javascript:void(0)", BadUrl.SCHEME),
        ("data:text/html," + "x" * 100_000, BadUrl.SCHEME),
        ("ftp://example.org/", BadUrl.SCHEME),
        ("file:///a|\n/b", BadUrl.SCHEME),
        ("file://[/", BadUrl.INVALID),
        ("http://[::1", BadUrl.INVALID),
        ("https://exa mple.org/", BadUrl.INVALID),
        ("http://\ud800/", BadUrl.INVALID),
        ("/" + "x" * MAX_URL_LENGTH, BadUrl.TOO_LONG),
        ("/" + "x" * 10 * MAX_URL_LENGTH, BadUrl.TOO_LONG),
    ],
)
def test_what_is_no_url_to_crawl_is_refused_by_name(href: str, refused: BadUrl) -> None:
    assert UrlReader().read(href, BASE) is refused


def test_the_length_limit_counts_the_whole_url_but_not_its_fragment() -> None:
    reader = UrlReader(max_length=40)
    assert isinstance(reader.read("https://example.org/" + "x" * 20 + "#" + "y" * 100, BASE), Target)
    assert reader.read("https://example.org/" + "x" * 21, BASE) is BadUrl.TOO_LONG
    assert reader.read("ü" * 7, "https://example.org/") is BadUrl.TOO_LONG


@pytest.mark.parametrize("letter", ["ü", "中", "\N{OLD ITALIC LETTER A}"])
def test_a_parser_never_gets_more_letters_beyond_ascii_than_a_url_may_have(
    letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It takes quadratic time for them in a host.
    lengths = []

    def join_url(base: str, href: str) -> str:
        lengths.append(len(href))
        return ada_url.join_url(base, href)

    monkeypatch.setattr("crawler.url.urls.join_url", join_url)
    reader = UrlReader()
    assert reader.read(f"//{letter * 1500}.test/", BASE) is BadUrl.TOO_LONG
    assert reader.read(f"javascript:{letter * 1500}", BASE) is BadUrl.SCHEME
    assert max(lengths) <= 200
    assert isinstance(reader.read(f"//{letter * 50}.test/{letter * 100}", BASE), Target)


ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    ("rule", "url", "expected"),
    [
        ("session-ids", "https://e.org/a;jsessionid=0F3?x=1", "https://e.org/a?x=1"),
        ("session-ids", "https://e.org/a?PHPSESSID=0123456789abcdef0123456789abcdef&b=1", "https://e.org/a?b=1"),
        ("session-ids", "https://e.org/a?sid=0123456789abcdef0123456789abcdef", "https://e.org/a"),
        ("session-ids", "https://e.org/a?sid=17", "https://e.org/a?sid=17"),
        ("session-ids", "https://e.org/a?x=1&CFID=12&CFTOKEN=34", "https://e.org/a?x=1"),
        ("session-ids", f"https://e.org/a.asp?ASPSESSIONIDABCDEFGH={'A' * 24}&b=1", "https://e.org/a.asp?b=1"),
        ("session-ids", f"https://e.org/(S({'a' * 24}))/x.aspx", "https://e.org/x.aspx"),
        ("session-ids", f"https://e.org/({'a' * 24})/x.aspx", "https://e.org/x.aspx"),
        ("session-ids", f"https://e.org/(X(1)s({'a' * 24})F(b-c))/x.aspx", "https://e.org/x.aspx"),
        ("session-ids", f"https://e.org/({'a' * 23})/x", f"https://e.org/({'a' * 23})/x"),
        ("session-ids", f"https://e.org/({'a' * 24})", f"https://e.org/({'a' * 24})"),
        ("session-ids", f"https://e.org/?a=1;sid={'b' * 32};c=2", "https://e.org/?a=1;c=2"),
        ("session-ids", f"https://e.org/?sid={ULID}", f"https://e.org/?sid={ULID}"),
        ("session-ids", f"https://e.org/?sessionid={ULID.lower()}", f"https://e.org/?sessionid={ULID.lower()}"),
        ("session-ids", f"https://e.org/?x=1&sessionid={UUID}", "https://e.org/?x=1"),
        ("session-ids", f"https://e.org/?sid={UUID}", f"https://e.org/?sid={UUID}"),
        ("session-ids", "https://e.org/shop?cfid=12", "https://e.org/shop?cfid=12"),
        ("session-ids", "https://e.org/shop?cftoken=12&cftoken=13", "https://e.org/shop?cftoken=12&cftoken=13"),
        ("session-ids", f"https://e.org/i.png?a=1&s={'b' * 32}", f"https://e.org/i.png?a=1&s={'b' * 32}"),
        ("session-ids", f"https://e.org/f/showthread.php?s={'b' * 32}&t=1", "https://e.org/f/showthread.php?t=1"),
        ("session-ids", "https://e.org/?s=words&jsessionid", "https://e.org/?s=words"),
        ("session-ids", "https://e.org/a/%2E.;jsessionid=1", "https://e.org/"),
        ("session-ids", f"https://e.org/?ASP.NET_SessionId={'b' * 24}&XTCsid={'b' * 32}", "https://e.org/"),
        ("tracking-parameters", "https://e.org/?utm_source=x&id=3&fbclid=y&gclid=z", "https://e.org/?id=3"),
        ("tracking-parameters", "https://e.org/?utm_source=x", "https://e.org/"),
        ("tracking-parameters", "https://e.org/?utmost=x", "https://e.org/?utmost=x"),
        ("tracking-parameters", "https://e.org/?utm=32U", "https://e.org/?utm=32U"),
        ("tracking-parameters", "https://e.org/?gad_source=1&gad_campaignid=2&srsltid=A&igsh=b", "https://e.org/"),
        ("tracking-parameters", "https://e.org/?__hstc=1&__hssc=2&__hsfp=3&hsCtaTracking=4", "https://e.org/"),
        ("empty-query", "https://e.org/a?", "https://e.org/a"),
        ("empty-query", "https://e.org/a?&b=1&&c=2&", "https://e.org/a?b=1&c=2"),
        ("percent-encoding", "https://e.org/%7ea%c3%a9?q=%2f%41", "https://e.org/~a%C3%A9?q=%2FA"),
        ("percent-encoding", "https://e.org/%%34%31%4%31?%%34", "https://e.org/%%341%4%31?%%34"),
        ("trailing-dot", "https://e.org./a", "https://e.org/a"),
        ("sort-query", "https://e.org/?b=2&a=1&b=1", "https://e.org/?a=1&b=2&b=1"),
        ("strip-www", "https://www.e.org/", "https://e.org/"),
        ("strip-www", "https://www2.e.org:8443/", "https://e.org:8443/"),
        ("strip-www", "https://www.org/", "https://www.org/"),
        ("default-document", "https://e.org/a/index.html?x", "https://e.org/a/?x"),
        ("default-document", "https://e.org/myindex.html", "https://e.org/myindex.html"),
        ("trailing-slash", "https://e.org/a/", "https://e.org/a"),
        ("trailing-slash", "https://e.org/", "https://e.org/"),
        ("extra-slashes", "https://e.org//a///b?x=//", "https://e.org/a/b?x=//"),
        ("lower-case", "https://e.org/A?B=C", "https://e.org/a?b=c"),
        ("lower-case", "https://e.org/A%c3?%C3", "https://e.org/a%C3?%C3"),
        ("any-scheme", "http://e.org/", "https://e.org/"),
        ("any-scheme", "http://e.org:8080/", "http://e.org:8080/"),
    ],
)
def test_each_rule_removes_its_difference_and_no_other(rule: str, url: str, expected: str) -> None:
    assert canonical(url, rule) == expected
    assert read(url, rules=(rule,)).url == url


def test_every_rule_has_a_case_above() -> None:
    [marker] = list(test_each_rule_removes_its_difference_and_no_other.pytestmark)  # type: ignore[attr-defined]
    assert {case[0] for case in marker.args[1]} == set(RULES)


def test_only_the_canonical_form_loses_anything() -> None:
    target = read("https://example.org/a;jsessionid=1?utm_source=x&b=%7e")
    assert target.url == "https://example.org/a;jsessionid=1?utm_source=x&b=%7e"
    assert target.canonical == "https://example.org/a?b=~"


def test_a_clean_url_is_its_own_canonical_form() -> None:
    target = read("https://example.org/a/b?c=d")
    assert target.canonical is target.url


_CHANGED = [
    *("/", ";", "?", "&", "=", "(", ")", "%", "x", "A", "1", "a" * 24, "b" * 32, "jsessionid", "sid", "PHPSESSID", "s"),
    *(
        "cfid",
        "asp.net_sessionid",
        "(S(" + "a" * 24 + "))/",
        "utm_source",
        "gclid",
        "%7e",
        "%c3",
        "%C3",
        "%41",
        "e.",
        "cftoken=1&",
        "igsh",
        "gad_source",
        "__hstc",
        "utm",
        "showthread.php",
        "_",
    ),
]


@given(st.lists(st.sampled_from(_CHANGED), max_size=12).map("".join))
def test_what_the_standard_rules_change_is_known_by_its_marks(path: str) -> None:
    target = read(f"https://e.org/{path}")
    assert UrlReader().read_many([target.url], BASE) == [target]
    before, mark, query = target.path.partition("?")
    parts = UrlComponents("https", "e.org", "", before, query if mark else None)
    assert target.canonical == str(canonicalizer(DEFAULT_RULES)(parts))


def test_the_order_of_named_rules_makes_no_difference() -> None:
    for url, expected in (
        ("https://e.org/?b=1&A=2", "https://e.org/?a=2&b=1"),
        ("https://e.org/?%75tm_source=1", "https://e.org/"),
        ("https://e.org/a/index.html/index.html/", "https://e.org/a"),
        ("https://www.www2.e.org./a", "https://e.org/a"),
        ("https://e.org/a/..;jsessionid=1/b", "https://e.org/b"),
    ):
        assert canonical(url, *RULES) == canonical(url, *reversed(RULES)) == expected


_SHUFFLED = st.lists(st.sampled_from(list(RULES)), unique=True).flatmap(st.permutations)


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from([*_CHANGED, "index.html", "www.", "/./", "..;jsessionid=1", "%%34%31"]), max_size=12),
    st.sampled_from(["e.org", "www.e.org.", "www.www.e.org", "www.1.2.3.4", "..", "127.1", "a.1..", "e.0x.."]),
    _SHUFFLED,
    st.sampled_from(["http://", "https://"]),
)
def test_canonical_forms_are_their_own_by_any_rules_in_any_order(
    path: list[str], host: str, rules: list[str], scheme: str
) -> None:
    reader = UrlReader(rules=rules)
    first = reader.read(f"{scheme}{host}/{''.join(path)}", BASE)
    if isinstance(first, Target):
        second = reader.read(first.canonical, BASE)
        assert isinstance(second, Target)
        assert second.canonical == first.canonical
        sorted_reader = UrlReader(rules=sorted(rules))
        assert sorted_reader.read(first.url, BASE) == first
        assert sorted_reader.identity == reader.identity


def test_canonical_forms_of_real_urls_are_their_own(corpora: Path) -> None:
    readers = [UrlReader(max_length=100_000), *(UrlReader(rules=order) for order in (tuple(RULES), tuple(RULES)[::-1]))]
    count = 0
    for path in sorted((corpora / "url-lists").glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines):
                for reader in readers if number % 40 == 0 else ():
                    target = reader.read(line.strip(), BASE)
                    if isinstance(target, Target):
                        again = reader.read(target.canonical, BASE)
                        assert isinstance(again, Target)
                        assert again.canonical == target.canonical, target.url
                        count += 1
    assert count > 30_000


def test_the_identity_names_version_and_rules() -> None:
    assert UrlReader(rules=("strip-www", "empty-query", "a => b")).identity == "3:empty-query,strip-www,a => b"
    assert UrlReader().identity != UrlReader(rules=()).identity


def test_an_unknown_rule_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"'strip-www2'.*strip-www"):
        UrlReader(rules=("strip-www2",))


@given(st.text(max_size=80), st.sampled_from(["", "?", "?a=%7e&", "?utm_source=1&x", "?sid=" + "a" * 32]))
def test_canonical_forms_are_stable(path: str, query: str) -> None:
    reader = UrlReader(rules=tuple(RULES))
    first = reader.read(f"http://www.example.org/{path}{query}", BASE)
    if isinstance(first, Target):
        second = reader.read(first.canonical, BASE)
        assert isinstance(second, Target)
        third = reader.read(second.canonical, BASE)
        assert isinstance(third, Target)
        assert third.canonical == second.canonical


PIECES = [
    "http://",
    "https://",
    "/",
    "//",
    ".",
    "..",
    "/.",
    "../",
    "a",
    "B",
    "-",
    "xn--",
    "e.org",
    "1",
    "0x1",
    ":80",
    "@",
    "?",
    "=",
    "&",
    "%2e",
    "%2E",
    "%7e",
    "%E2",
    "%",
    "~",
    "_",
    ";",
    ";sid=",
    "(S(",
    "utm_source=1",
    "phpsessid",
    "é",
    " ",
    "\t",
    "\\",
    "|",
    "^",
    "[",
    "'",
    "#",
    ":",
    "mailto:",
    "x-1.b+c:",
    "file:///",
]


def by_the_standard(base: str, href: str) -> str | None:
    try:
        url = ada_url.join_url(base, href)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def is_url(base: str, href: str) -> bool:
    try:
        ada_url.join_url(base, href)
    except ValueError:
        return False
    return True


@given(st.from_regex(r"([a-zA-Z][a-zA-Z0-9+.-]{0,6}:|FILE:///)[\x00-\x7f\ud800]{0,8}", fullmatch=True))
def test_what_has_another_scheme_is_told_from_what_is_no_url(href: str) -> None:
    target = UrlReader().read(href, BASE)
    if isinstance(target, BadUrl):
        assert target is (BadUrl.SCHEME if is_url(BASE, href) else BadUrl.INVALID)


@settings(max_examples=400)
@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=5).map("".join),
)
def test_plain_hrefs_are_read_as_the_standard_would(href: str, base: str) -> None:
    reader = UrlReader()
    # Not all of its rules are standard ones, so each of them looks at each URL.
    thorough = UrlReader(rules=[*DEFAULT_RULES, "^never$ => never"])
    for against in (BASE, f"http://u:p@e.org:81/{base}", base):
        if not ada_url.check_url(against):
            continue
        target = reader.read(href, against)
        assert reader.read_many([href], against) == [target]
        expected = by_the_standard(against, href)
        if "@" not in against:
            assert join(against, href) == expected
        if target is BadUrl.INVALID_HOST:
            assert expected is not None
            assert not is_name(host_of(expected))
        elif isinstance(target, Target):
            assert expected is not None
            assert target == thorough.seed(expected)
        else:
            assert expected is None
            assert target is (BadUrl.SCHEME if is_url(against, href) else BadUrl.INVALID)


def test_plain_real_urls_are_read_as_the_standard_would(corpora: Path) -> None:
    reader = UrlReader(max_length=100_000)
    count = 0
    for path in sorted((corpora / "url-lists").glob("*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines):
                url = line.strip()
                if number % 25 == 0 and isinstance(target := reader.read(url, BASE), Target):
                    expected = by_the_standard(BASE, url)
                    assert expected is not None
                    assert target == reader.seed(expected), url
                    count += 1
    assert count > 16_000


def test_nothing_long_is_remembered() -> None:
    def remembered() -> list[int]:
        return [each.cache_info().currsize for each in vars(hrefs).values() if hasattr(each, "cache_info")]

    reader = UrlReader(max_length=100_000)
    reader.read("/a", BASE)
    before = remembered()
    for number in range(10):
        long = f"{number}{'x' * 3000}"
        for href, base in (
            (f"//{long}/a", BASE),
            (f"https://{long}.e.org/a", BASE),
            ("a", f"{BASE}/{long}/"),
            ("//e", long),
        ):
            reader.read(href, base)
            join(base, href)
    assert remembered() == before


@given(st.text(max_size=60) | st.from_regex(r"(https?:)?//[a-z.:@\[\]0-9%-]{0,20}(/[ -~]{0,20})?", fullmatch=True))
def test_no_href_raises(href: str) -> None:
    target = UrlReader().read(href, BASE)
    if isinstance(target, Target):
        assert target.url.startswith(("http://", "https://"))
        assert "#" not in target.url
        assert target.path.startswith("/")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.Example.org/", "org,example,www"),
        ("http://www.example.org:80/", "org,example,www"),
        ("https://www.example.org:8443/", "org,example,www:8443"),
        ("http://www.example.org:443/", "org,example,www:443"),
        ("http://192.0.2.7:8080/", "192.0.2.7:8080"),
        ("http://3221225991/", "192.0.2.7"),
        ("http://[2001:db8::1]/", "[2001:db8::1]"),
        ("http://[2001:db8::1]:81/", "[2001:db8::1]:81"),
        ("http://localhost/", "localhost"),
        ("http://example.org./", "org,example"),
        ("http://bücher.example/", "example,xn--bcher-kva"),
    ],
)
def test_queue_keys_are_hosts_in_surt_order(url: str, site: str) -> None:
    target = read(url)
    assert target.site == site
    assert target.queue_key == site


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://a.b.example.co.uk/", "uk,co,example"),
        ("https://www.example.org:8443/", "org,example:8443"),
        ("https://someone.github.io/", "io,github,someone"),
        ("http://192.0.2.7/", "192.0.2.7"),
        ("http://[2001:db8::1]:81/", "[2001:db8::1]:81"),
        ("http://localhost:8000/", "localhost:8000"),
        ("http://h00017.sim.test/", "test,sim"),
    ],
)
def test_queues_may_be_made_by_registered_domain(url: str, key: str) -> None:
    target = UrlReader(queue_by="domain").read(url, BASE)
    assert isinstance(target, Target)
    assert target.queue_key == key


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://www.news.example.co.uk:8443/a", "example.co.uk"),
        ("http://192.0.2.7:80/", "192.0.2.7"),
        ("http://[::1]/", "[::1]"),
        (f"http://{'a.' * 200}example.org/", "example.org"),
        ("not a URL", ""),
    ],
)
def test_the_registered_domain_of_a_serialised_url(url: str, domain: str) -> None:
    assert domain_of(url) == domain


def test_host_and_origin_of_a_serialised_url() -> None:
    assert host_of("https://user@www.example.org:8443/a@b") == "www.example.org"
    assert host_of("http://[::1]:80/") == "[::1]"
    assert host_of("http://a.test") == "a.test"
    # A visited set is given any text.
    assert [host_of(text) for text in ("", "a", "/b/c", "http:")] == [""] * 4
    assert origin_of("https://user:pw@www.example.org:8443/a") == "https://www.example.org:8443"
    assert origin_of("http://user:p@a/b@c/") == origin_of("http://a") == "http://a"


def test_joining_keeps_the_fragment_and_refuses_other_schemes() -> None:
    assert join("https://example.org/a/b", "../c#d") == "https://example.org/c#d"
    assert join("https://example.org/", "mailto:x@example.org") is None
    assert join("https://example.org/", "file:///a#b") is None
    assert join("https://example.org/", "http://[") is None


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("  https://example.org \n", "https://example.org/"),
        ("https://example.org/a b/ü?q=ü", "https://example.org/a%20b/%C3%BC?q=%C3%BC"),
        ("HTTPS://EXÄMPLE.org:443/#top", "https://xn--exmple-cua.org/"),
        ("http:example.org", "http://example.org/"),
    ],
)
def test_seeds_are_read_as_a_browser_reads_its_address_line(text: str, url: str) -> None:
    assert UrlReader().seed(text).url == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("example.org", "has no scheme; write 'https://example.org/'"),
        ("example.org:8080/x", "has no scheme; write 'https://example.org:8080/x'"),
        ("localhost:8080", "has no scheme; write 'https://localhost:8080/'"),
        ("//example.org/x", "has no scheme; write 'https://example.org/x'"),
        ("ftp://example.org/", "expected http or https, found 'ftp'"),
        ("mailto:me@example.org", "expected http or https, found 'mailto'"),
        ("https://exa mple.org/", "not a URL"),
        ("two words", "not a URL"),
        ("   ", "empty seed"),
        ("https://example.org/" + "x" * 3000, "more than 2083 characters"),
    ],
)
def test_a_seed_that_cannot_be_crawled_says_what_to_do(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"seed") as caught:
        UrlReader().seed(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


LONG = ".".join(["a" * 61] * 4)
"""Of 247 characters."""


@pytest.mark.parametrize(
    "host",
    ["a..test", ".test", "a" * 64 + ".test", f"{LONG}.abcdefg", "*.test", "a.*.test", "a.test..", f"b.{'a' * 64}"],
)
def test_a_link_to_a_name_that_dns_cannot_hold_is_refused(host: str) -> None:
    reader = UrlReader()
    for href in (f"http://{host}/x", f"//{host}/x", f"https://{host}:8080/x?y=%7e", f"http://{host}"):
        assert reader.read(href, "http://b.test/") is BadUrl.INVALID_HOST
        assert reader.read_many([href], "http://b.test/") == [BadUrl.INVALID_HOST]
    with pytest.raises(ValueError, match="DNS"):
        reader.seed(f"http://{host}/")


@pytest.mark.parametrize(
    "host", ["a.test.", "a" * 63 + ".test", f"{LONG}.abcde", f"{LONG}.abcde.", "a_b.test", "[::1]", "127.0.0.1", "x"]
)
def test_a_link_to_a_name_that_dns_can_hold_is_not(host: str) -> None:
    reader = UrlReader()
    href = f"http://{host}/x"
    for target in (reader.read(href, "http://b.test/"), *reader.read_many([href], "http://b.test/")):
        assert isinstance(target, Target)
        assert target.host == host
