import pytest
from publicsuffixlist import PublicSuffixList

from crawler.url import hosts
from crawler.url.hosts import (
    domain_of_site,
    has_known_top_level,
    in_ascii,
    installed_suffixes,
    public_suffixes,
    registered_domain,
    split_port,
    surt_host,
    use_suffixes,
)


def test_every_rule_of_the_public_suffix_list_holds_for_hosts_in_ascii() -> None:
    theirs = PublicSuffixList()
    rules = [line.split()[0] for line in installed_suffixes().decode().splitlines() if line and line[0] != "/"]
    assert any(not rule.isascii() for rule in rules)
    for rule in rules:
        host = f"a.b.{rule.lstrip('!*.')}".encode("idna").decode()
        assert registered_domain(host) == theirs.privatesuffix(host)


def test_suffixes_of_registries_are_told_from_private_ones() -> None:
    theirs = PublicSuffixList(only_icann=True)
    for host in ("a.github.io", "a.co.uk", "a.xn--p1ai", "a.b.kobe.jp", "city.kobe.jp", "www.ck", "a.example", "com"):
        found = public_suffixes(host)
        assert found is not None
        assert (found.registry_suffix, found.registered_domain) == (
            theirs.publicsuffix(host),
            theirs.privatesuffix(host),
        )


@pytest.mark.parametrize(
    "rule",
    ["Shop.Test", "shop.test and a comment", "shop.test\r", "shop.test\rtest.example", "公司", "xn--55qx5d", "*.test"],
)
@pytest.mark.parametrize(
    "met_before", [(), tuple(f"a.net{number}" for number in range(9))], ids=["first", "after-unknown-ones"]
)
def test_a_rule_of_another_list_holds(rule: str, met_before: tuple[str, ...]) -> None:
    try:
        use_suffixes(f"// A comment\n\n  \n{rule}\n".encode())
        assert not any(map(has_known_top_level, met_before))
        top = in_ascii(rule.split(maxsplit=1)[0].rpartition(".")[2].lower())
        suffix = "shop.test" if top == "test" else top
        assert registered_domain(f"a.b.{suffix}") == f"b.{suffix}"
        assert has_known_top_level(f"a.{top}")
        assert not has_known_top_level("a.com")
    finally:
        use_suffixes(installed_suffixes())


def test_an_exception_among_rules_in_other_letters_holds() -> None:
    try:
        use_suffixes("*.公司\n!公司.公司\n".encode())
        assert registered_domain("a.b.xn--55qx5d") == "a.b.xn--55qx5d"
        assert registered_domain("a.xn--55qx5d.xn--55qx5d") == "xn--55qx5d.xn--55qx5d"
    finally:
        use_suffixes(installed_suffixes())


def test_the_list_is_searched_for_a_few_unknown_top_levels_and_read_then(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def find(top_level: str, text: bytes) -> list[str]:
        searched.append(top_level)
        return find_rules(top_level, text)

    find_rules = hosts._find_rules
    monkeypatch.setattr("crawler.url.hosts._find_rules", find)
    try:
        use_suffixes("test // with us\n*.公司\n// unknown-99\n".encode())
        assert [registered_domain(f"a.b.unknown-{number}") for number in range(99)][-1] == "b.unknown-98"
        assert not has_known_top_level("unknown-99")
        assert registered_domain("a.b.test") == "b.test"
        assert registered_domain("a.b.c.xn--55qx5d") == "b.c.xn--55qx5d"
        assert [name for name in searched if name.startswith("unknown")] == [f"unknown-{number}" for number in range(9)]
    finally:
        use_suffixes(installed_suffixes())


def test_the_list_is_not_read_for_a_crawl_of_one_unknown_top_level(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> frozenset[str]:
        raise AssertionError("the list was read, which takes longer than to search it")

    monkeypatch.setattr("crawler.url.hosts._top_levels", read)
    try:
        use_suffixes(b"com\norg\n")
        for number in range(100):
            assert registered_domain(f"a.b{number}.internal") == f"b{number}.internal"
    finally:
        use_suffixes(installed_suffixes())


def test_the_list_is_searched_once_for_the_top_level_of_many_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def find(top_level: str, _: bytes) -> list[str]:
        searched.append(top_level)
        return ["test"] if top_level == "test" else []

    monkeypatch.setattr("crawler.url.hosts._find_rules", find)
    try:
        use_suffixes(b"test\n")
        assert all(has_known_top_level(f"a{number}.test") for number in range(10))
        assert not any(has_known_top_level(f"a{number}.tset.") for number in range(10))
        assert not has_known_top_level("a" * 64)
        assert searched == ["test", "tset"]
    finally:
        use_suffixes(installed_suffixes())


def test_registered_domains_follow_the_public_suffix_list() -> None:
    assert registered_domain("www.example.co.uk") == "example.co.uk"
    assert registered_domain("co.uk") == "co.uk"
    assert registered_domain("192.0.2.1") == "192.0.2.1"
    assert domain_of_site("uk,co,example,www:8080") == "uk,co,example:8080"
    assert surt_host("www.example.org") == "org,example,www"


@pytest.mark.parametrize(
    ("authority", "host", "port"),
    [
        ("example.org", "example.org", ""),
        ("example.org:8080", "example.org", ":8080"),
        ("[2001:db8::1]", "[2001:db8::1]", ""),
        ("[2001:db8::1]:81", "[2001:db8::1]", ":81"),
    ],
)
def test_a_port_is_told_from_its_host(authority: str, host: str, port: str) -> None:
    assert split_port(authority) == (host, port)


@pytest.mark.parametrize("address", ["192.0.2.7", "[2001:db8::1]"])
def test_addresses_have_neither_order_nor_domain(address: str) -> None:
    assert surt_host(address) == registered_domain(address) == domain_of_site(address) == address
    assert domain_of_site(f"{address}:81") == f"{address}:81"
