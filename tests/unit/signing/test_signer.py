"""That requests are signed as Web Bot Auth wants it: judged by test vectors, and by another implementation."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace
from yarl import URL

from crawler.fetch.signing.signer import SigningKey
from crawler.fetch.signing.values import Signed, Wish
from tests.signature_check import Verified, thumbprint, verify
from tests.unit.fetch.test_cookies import Clock
from tests.unit.signing.signers import AGENT, KEY_ID, KEYS, TEST_KEY, X, signer

PAGE = URL("https://example.com/path/to/resource")


def check(signed: Signed | None, url: URL = PAGE, method: str = "GET", **headers: str) -> Verified:
    assert signed is not None
    sent = {name.lower(): value for name, value in (headers | dict(signed.headers)).items()}
    return verify(method, str(url), sent.get, KEYS)


def number_of_signatures(*signed: Signed | None) -> int:
    return len({each.headers["Signature"] for each in signed if each is not None})


def test_the_vector_of_the_draft_comes_out() -> None:
    """draft-ietf-webbotauth-httpsig-protocol-00, "EdDSA Using Curve edwards25519": with Signature-Agent."""
    nonce = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
    clock = Clock()
    clock.now = 1735689600.0
    signed = signer(clock, lifetime_s=4889289600 - 1735689600).sign(
        PAGE, "GET", {}, Wish("agent2", ("@authority",), nonce)
    )
    assert signed is not None
    assert signed.headers == {
        "Signature-Agent": f'agent2="{AGENT}"',
        "Signature-Input": 'agent2=("@authority" "signature-agent";key="agent2");created=1735689600;'
        f'keyid="{KEY_ID}";alg="ed25519";expires=4889289600;nonce="{nonce}";tag="web-bot-auth"',
        "Signature": "agent2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg=="
        ":",
    }


def test_the_other_implementation_accepts_the_vectors_of_the_draft_and_nothing_else() -> None:
    """The same section; and the vector without Signature-Agent of earlier drafts."""
    plain = {
        "signature-input": 'sig1=("@authority");created=1735689600;'
        f'keyid="{KEY_ID}";alg="ed25519";expires=4889289600;'
        'nonce="zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==";'
        'tag="web-bot-auth"',
        "signature": "sig1=:QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==:",
    }
    assert verify("GET", str(PAGE), plain.get, KEYS).params["tag"] == "web-bot-auth"
    with pytest.raises(ValueError, match="the signature is wrong"):
        verify("GET", "https://example.org/path/to/resource", plain.get, KEYS)


def test_the_id_of_a_key_is_its_thumbprint() -> None:
    assert thumbprint(X) == KEY_ID


def test_one_signature_serves_all_requests_to_a_host_until_it_is_renewed_before_it_expires() -> None:
    clock = Clock()
    signs = signer(clock)
    first = signs.sign(PAGE, "GET", {"User-Agent": "a"})
    clock.now += 190
    again = signs.sign(URL("https://example.com/other?x=1"), "HEAD", {})
    assert number_of_signatures(first, again) == signs.made == 1
    clock.now += 20
    renewed = signs.sign(PAGE, "GET", {})
    assert number_of_signatures(first, renewed) == signs.made == 2
    told = check(renewed)
    assert int(told.params["created"]) == int(clock.now)
    assert int(told.params["expires"]) == int(clock.now) + 300
    assert "nonce" not in told.params, "a nonce is for one request"


@pytest.mark.parametrize(
    ("url", "components"),
    [
        ("https://example.com/", ('"@authority"', '"signature-agent";key="sig1"')),
        ("https://EXAMPLE.com:443/", ('"@authority"', '"signature-agent";key="sig1"')),
        ("https://example.com:8443/", ('"@authority"', '"signature-agent";key="sig1"')),
        ("http://example.com/", ('"@authority"', '"@scheme"', '"signature-agent";key="sig1"')),
        ("http://[2606:4700::1]:8080/", ('"@authority"', '"@scheme"', '"signature-agent";key="sig1"')),
        ("https://xn--bcher-kva.example/%zz?a b", ('"@authority"', '"signature-agent";key="sig1"')),
    ],
)
def test_host_and_agent_are_signed_and_over_plain_http_the_scheme_too(url: str, components: tuple[str, ...]) -> None:
    place = URL(url, encoded=True)
    told = check(signer().sign(place, "GET", {}), place)
    assert told.components == components
    assert told.agent == f'sig1="{AGENT}"'
    assert told.params["keyid"] == KEY_ID
    assert told.params["tag"] == "web-bot-auth"


def test_each_host_and_each_port_has_a_signature_of_its_own() -> None:
    signs = signer()
    urls = [URL(url) for url in ("https://a.test/", "https://b.test/", "https://a.test:8443/", "http://a.test/")]
    signed = [signs.sign(url, "GET", {}) for url in urls]
    assert number_of_signatures(*signed) == 4
    for url, each in zip(urls, signed, strict=True):
        check(each, url)
    with pytest.raises(ValueError, match="the signature is wrong"):
        check(signed[0], urls[1])


def test_a_signature_for_one_request_covers_method_and_path_and_has_a_nonce() -> None:
    signs = signer(each_request=True)
    first, second = signs.sign(PAGE, "GET", {}), signs.sign(PAGE, "GET", {})
    told, again = check(first), check(second)
    assert told.components == ('"@method"', '"@authority"', '"@path"', '"signature-agent";key="sig1"')
    assert len(told.params["nonce"]) == 88
    assert told.params["nonce"] != again.params["nonce"]
    with pytest.raises(ValueError, match="the signature is wrong"):
        check(first, method="HEAD")


def test_a_server_gets_the_components_and_the_nonce_that_it_wants() -> None:
    url = URL("https://example.com/a?b=c")
    wish = Wish("theirs", ("@authority", "@method", "@query", "user-agent"), "n1")
    headers: Mapping[str, str] = {"User-Agent": "onceover/1.0"}
    signed = signer().sign(url, "GET", headers, wish)
    told = check(signed, url, **headers)
    assert told.label == "theirs"
    assert told.params["nonce"] == "n1"
    assert '"user-agent"' in told.components
    assert told.components[-1] == '"signature-agent";key="theirs"'


def test_what_cannot_be_signed_is_none() -> None:
    assert signer().sign(PAGE, "GET", {}, Wish("sig1", ("@authority", "x-missing"))) is None
    assert signer(key=lambda _: None).sign(PAGE, "GET", {}) is None


def test_a_signature_ends_with_its_key_and_a_new_key_signs_at_once() -> None:
    clock = Clock()
    keys: list[SigningKey | None] = [replace(TEST_KEY, valid_until=clock.now + 60)]
    signs = signer(clock, key=lambda _: keys[0])
    assert int(check(signs.sign(PAGE, "GET", {})).params["expires"]) == int(clock.now) + 60
    keys[0] = None
    assert signs.sign(PAGE, "GET", {}) is None
    keys[0] = TEST_KEY
    clock.now += 1
    assert signs.sign(PAGE, "GET", {}) is not None


def test_signatures_are_kept_for_a_bounded_number_of_hosts() -> None:
    signs = signer(max_kept=3)
    for number in range(10):
        signs.sign(URL(f"https://h{number}.test/"), "GET", {})
    signs.sign(URL("https://h7.test/"), "GET", {})
    assert signs.made == 10
    signs.sign(URL("https://h6.test/"), "GET", {})
    assert signs.made == 11
