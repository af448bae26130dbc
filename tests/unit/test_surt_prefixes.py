import pytest

from crawler.discover.scope import Scope, ScopeRefusal
from crawler.discover.surt_prefixes import QueuePrefixes, SurtPrefixes, parse_list
from crawler.url.urls import UrlReader

READER = UrlReader()


def cover(entry: str, *urls: str) -> list[bool]:
    places = SurtPrefixes([entry])
    return [places.cover(READER.seed(url)) for url in urls]


URLS = (
    "https://example.org/",
    "http://www.example.org/docs/a?b",
    "https://www.example.org/docs2",
    "https://www.example.org:8443/docs/",
    "https://examples.org/",
    "http://192.0.2.1/",
)


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ("example.org", [1, 0, 0, 0, 0, 0]),
        ("WWW.Example.org", [0, 1, 1, 0, 0, 0]),
        ("www.example.org:8443", [0, 0, 0, 1, 0, 0]),
        ("*.example.org", [1, 1, 1, 1, 0, 0]),
        ("org,example,", [1, 1, 1, 1, 0, 0]),
        ("http://(org,example,", [1, 1, 1, 1, 0, 0]),
        ("http://(org,example", [1, 1, 1, 1, 1, 0]),
        ("https://www.example.org/docs/start.html", [0, 1, 0, 0, 0, 0]),
        ("HTTP://WWW.example.org/docs/", [0, 1, 0, 0, 0, 0]),
        ("org,example,www)/docs", [0, 1, 1, 0, 0, 0]),
        ("https://(org,example,www,)/docs/", [0, 1, 0, 0, 0, 0]),
        ("https://(org,example,www,:8443)/docs/", [0, 0, 0, 1, 0, 0]),
        ("https://(org,example,www,:84", [0, 0, 0, 1, 0, 0]),
        ("https://(org,example,www:8443,)/docs/", [0, 0, 0, 1, 0, 0]),
        ("+http://(org,example,www,)/docs", [0, 1, 1, 0, 0, 0]),
        ("https://(", [1, 1, 1, 1, 1, 1]),
        ("http://(192.0.2.1)/", [0, 0, 0, 0, 0, 1]),
        ("http://(org,example,www,:80)/docs", [0, 1, 1, 0, 0, 0]),
        ("http://(org,example,www,:443", [0, 1, 1, 0, 0, 0]),
        ("www.example.org:80", [0, 1, 1, 0, 0, 0]),
        ("www.example.org:443", [0, 1, 1, 0, 0, 0]),
        ("192.0.2.1", [0, 0, 0, 0, 0, 1]),
        ("192.0.2.1:80", [0, 0, 0, 0, 0, 1]),
    ],
)
def test_a_place_covers_what_it_says(entry: str, covered: list[int]) -> None:
    assert cover(entry, *URLS) == list(map(bool, covered))


@pytest.mark.parametrize(
    "entry",
    [
        "münchen.example",
        "*.münchen.example",
        "example,münchen,",
        "example,xn--mnchen-3ya,",
        "http://(example,MÜNCHEN,)/straße",
        "https://münchen.example/straße/",
    ],
)
def test_names_and_paths_of_places_may_be_written_in_any_script(entry: str) -> None:
    assert cover(entry, "https://münchen.example/straße/a", "https://xn--mnchen-3ya.example/stra%C3%9Fe/") == [True] * 2
    assert cover(entry, "https://munchen.example/straße/a") == [False]


def test_a_label_that_no_host_can_have_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'example,m ü,' is not a place: 'm ü' can't be part of the name of a host"):
        SurtPrefixes(["example,m ü,"])


@pytest.mark.parametrize("entry", ["*.example.org:8080", "*.example.org:80"])
def test_a_domain_with_a_port_is_refused_because_it_would_cover_all_ports(entry: str) -> None:
    with pytest.raises(ValueError, match=r"a domain has all ports of its hosts; leave the port out"):
        SurtPrefixes([entry])


@pytest.mark.parametrize("entry", ["", "two words", "example.org/docs", "https://", "*"])
def test_what_is_no_place_is_refused_by_name(entry: str) -> None:
    with pytest.raises(ValueError, match=r"place|seed|URL"):
        SurtPrefixes([entry])


@pytest.mark.parametrize("entry", ["http://[", "https://a.test:99999/", "*.a..b"])
def test_a_place_that_is_no_url_is_called_a_place(entry: str) -> None:
    with pytest.raises(ValueError, match=r"(^place '|is not a place)"):
        SurtPrefixes([entry])


@pytest.mark.parametrize(
    "entry",
    [
        "-http://(org,example,",
        "ftp://(org,example,",
        '"org,example,"',
        "org, example, www)/",
        "org,example,*",
        "http://(www.example.org,)/",
        "org.example,",
        "org,example,www)docs",
        "org,example,www:http)/",
        "a.test,b.test",
        "http://()/",
        ",",
    ],
)
def test_a_surt_prefix_with_which_no_url_begins_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=r"is not a place: expected the beginning of a URL in SURT order"):
        SurtPrefixes([entry])


@pytest.mark.parametrize(
    "url", ["http://[2001:db8::1]:8080/a?b", "http://192.0.2.1/a", "https://www.example.org:8443/x(y),z"]
)
def test_each_beginning_of_a_surt_is_a_place_of_its_url(url: str) -> None:
    target = READER.seed(url)
    whole = f"{target.site}){target.path}"
    assert all(SurtPrefixes([f"http://({whole[:end]}"]).cover(target) for end in range(1, len(whole) + 1))


def test_one_of_many_places_is_found() -> None:
    places = SurtPrefixes([f"h{number}.example.org" for number in range(1000)])
    assert all(places.cover(READER.seed(f"https://h{number}.example.org/x")) for number in range(1000))
    assert not places.cover(READER.seed("https://h1000.example.org/"))
    assert not SurtPrefixes([])


def test_places_widen_the_scope_and_excluded_ones_narrow_it() -> None:
    scope = Scope(
        within="host",
        seeds=[READER.seed("https://example.org/")],
        places=["*.example.net"],
        exclude_places=["https://example.org/private/", "ads.example.net"],
    )
    for url, refusal in (
        ("https://example.org/a", None),
        ("https://www.example.net/a", None),
        ("https://example.com/", ScopeRefusal.OUT_OF_SCOPE),
        ("https://example.org/private/a", ScopeRefusal.EXCLUDED),
        ("https://ads.example.net/a", ScopeRefusal.EXCLUDED),
    ):
        assert scope.judge(READER.seed(url))[0] is refusal, url


def test_a_list_has_an_entry_on_each_line_and_comments() -> None:
    text = "# hosts\n example.org \n\n*.example.net # all of it\r\n"
    assert parse_list(text) == [(2, "example.org"), (4, "*.example.net")]


# queues


PREFIXES = QueuePrefixes(
    [
        "*.pages.test",
        "www.b.test",
        "https://www.a.test/docs/",
        "test,a,www)/docs/old/",
        "https://x.pages.test/big/",
        "https://c.test/",
    ]
)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://a.test/x", "test,a"),
        ("http://www.a.test/x", "test,a,www"),
        ("http://www.a.test/docs", "test,a,www"),
        ("http://www.a.test/docs/", "test,a,www#/docs/"),
        ("https://www.a.test/docs/x?y", "test,a,www#/docs/"),
        ("https://www.a.test/docs/old/x", "test,a,www#/docs/old/"),
        ("https://www.a.test:8080/docs/x", "test,a,www:8080"),
        ("http://www.b.test/x", "test,b,www"),
        ("http://pages.test/x", "test,pages"),
        ("http://x.y.pages.test/x", "test,pages"),
        ("http://x.pages.test/big/1", "test,pages#test,pages,x)/big/"),
        ("http://pagesx.test/", "test,pagesx"),
        ("http://c.test/x", "test,c"),
    ],
)
def test_urls_of_the_longest_listed_place_share_a_queue_and_others_that_of_their_host(url: str, key: str) -> None:
    target = UrlReader(queue_of=PREFIXES.key).seed(url)
    assert target.queue_key == key


def test_queues_that_are_named_alike_are_of_one_identity() -> None:
    assert QueuePrefixes(["*.a.test", "b.test"]).identity == QueuePrefixes(["b.test", "test,a,"]).identity
    assert QueuePrefixes(["*.a.test"]).identity != QueuePrefixes(["a.test"]).identity


@pytest.mark.parametrize("entry", ["a.test:80", "http://(test,a,:80)/", "http://(test,a,:80"])
def test_a_place_with_a_default_port_has_the_queue_of_its_host(entry: str) -> None:
    reader = UrlReader(queue_of=QueuePrefixes([entry]).key)
    assert reader.seed("http://a.test/x").queue_key == "test,a"
