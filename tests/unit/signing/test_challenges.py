"""What servers ask for by Accept-Signature, and which requests are repeated and signed because of it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from crawler.fetch.signing.challenges import Challenges, read_wish
from crawler.fetch.signing.values import Wish
from frontier.memory.notes import MemoryNotes
from tests.unit.fetch.test_cookies import Clock
from tests.unit.signing.signers import signing

PAGE = URL("https://a.test/page")
PLAIN = 'sig1=("@authority" "signature-agent";key="sig1");created;expires;tag="web-bot-auth"'


async def refused(_: URL) -> bool:
    return False


@pytest.mark.parametrize(
    ("header", "wish"),
    [
        (PLAIN, Wish("sig1", ("@authority",))),
        ('a=();nonce="n"', Wish("a", ("@authority",), "n")),
        ('a=("@target-uri" "user-agent");alg="ed25519"', Wish("a", ("@target-uri", "user-agent"))),
        ('a=("@method");tag="other", b=("@path");tag="web-bot-auth"', Wish("b", ("@authority", "@path"))),
        ('a=("@authority");alg="rsa-pss-sha512"', None),
        ('a=("@authority");keyid="somebody"', None),
        ('a=("@status")', None),
        ('a=("@query-param";name="x")', None),
        ('a=("@authority"', None),
        ("a=1", None),
        ('a=("Host")', None),
        ("a=();nonce=1", None),
        ('a=();nonce=""', None),
        ("", None),
        (f'a=();nonce="{"x" * 300}"', None),
        ("a=(" + '"@path" ' * 16 + '"@path")', None),
        ('a=("@path");nonce="' + "x" * 5000 + '"', None),
    ],
)
def test_a_wish_is_read_if_we_can_fulfil_it(header: str, wish: Wish | None) -> None:
    assert read_wish([header]) == wish


@given(st.text(max_size=200))
def test_no_header_breaks_the_reader(header: str) -> None:
    read_wish([header, header])


async def test_only_who_has_asked_gets_signatures_and_the_refused_request_is_repeated_once() -> None:
    signs = signing(when_asked=True)
    assert await signs.sign(PAGE, "GET", {}) is None
    assert await signs.learn(PAGE, {}, None, status=403, accepted=[PLAIN])
    signed = await signs.sign(PAGE, "GET", {})
    assert signed is not None
    assert not await signs.learn(PAGE, {}, signed, status=403, accepted=[PLAIN])
    assert await signs.sign(URL("https://b.test/"), "GET", {}) is None


async def test_an_answer_that_is_no_refusal_is_not_asked_for_again() -> None:
    signs = signing(when_asked=True)
    assert not await signs.learn(PAGE, {}, None, status=200, accepted=[PLAIN])
    assert await signs.sign(PAGE, "GET", {}) is not None


async def test_a_nonce_is_used_once() -> None:
    signs = signing()
    usual = await signs.sign(PAGE, "GET", {})
    assert await signs.learn(PAGE, {}, usual, status=403, accepted=['sig1=("@authority");nonce="n1"'])
    first = await signs.sign(PAGE, "GET", {})
    assert first is not None
    assert 'nonce="n1"' in first.headers["Signature-Input"]
    assert not await signs.learn(PAGE, {}, first, status=403, accepted=['sig1=("@authority");nonce="n2"'])
    second, third = await signs.sign(PAGE, "GET", {}), await signs.sign(PAGE, "GET", {})
    assert second is not None
    assert third is not None
    assert 'nonce="n2"' in second.headers["Signature-Input"]
    assert "nonce" not in third.headers["Signature-Input"]


async def test_what_a_host_wants_and_we_cannot_sign_is_not_repeated() -> None:
    signs = signing()
    wants_cookie = 'sig1=("@authority" "cookie")'
    usual = await signs.sign(PAGE, "GET", {})
    assert not await signs.learn(PAGE, {}, usual, status=403, accepted=[wants_cookie])
    assert await signs.sign(PAGE, "GET", {}) is not None


async def test_a_signature_that_was_used_too_often_is_made_anew() -> None:
    signs = signing()
    usual = await signs.sign(PAGE, "GET", {})
    await signs.learn(PAGE, {}, usual, status=429, accepted=[PLAIN])
    again = await signs.sign(PAGE, "GET", {})
    assert usual is not None
    assert again is not None
    assert again is not usual


async def test_a_host_at_a_private_address_gets_a_signature_only_if_it_is_named() -> None:
    assert await signing(is_public=refused).sign(PAGE, "GET", {}) is None
    assert await signing(is_public=refused, hosts=["*.test"]).sign(PAGE, "GET", {}) is not None
    assert await signing(hosts=["b.test"]).sign(PAGE, "GET", {}) is None
    asked = signing(is_public=refused, when_asked=True)
    assert not await asked.learn(PAGE, {}, None, status=403, accepted=[PLAIN])


def test_what_a_host_wants_is_kept_over_a_restart_and_for_a_month() -> None:
    notes, clock = MemoryNotes(), Clock()
    wish = Wish("sig1", ("@authority", "@method"), "n")
    Challenges(notes, clock=clock).learn("a.test:8080", wish)
    resumed = Challenges(notes, clock=clock)
    assert resumed.find("a.test:8080") == msgspec.structs.replace(wish, nonce=None)
    assert resumed.find("a.test") is None
    clock.now += 31 * 86_400
    assert resumed.find("a.test:8080") is None
