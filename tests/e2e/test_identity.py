"""That a crawl signs its requests where it is asked to, and the commands that make its keys."""

import base64
import json
from pathlib import Path

import pytest

from config import load, toml_value
from crawler.disk.directory import CrawlDirectory
from crawler.testing.fetch.raw_server import Script, Seen, page, raw_server
from crawler.wiring.crawl import open_crawl
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, USAGE, Ended
from tests.e2e.operating import command_here
from tests.signature_check import verify

HTML = b"Content-Type: text/html"
ASKS = b'Accept-Signature: sig1=("@authority" "signature-agent";key="sig1");created;tag="web-bot-auth"'
SITEMAP = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.test/in</loc></url></urlset>'


def run(*arguments: object) -> Ended:
    return command_here(*map(str, arguments))


def answers(seen: Seen) -> Script:
    """A site that wants to know who asks for it, under the name a.test alone."""
    if seen.header("host") == "a.test" and seen.header("signature") is None:
        return [page(b"who are you?", ASKS, HTML, status=b"403 Forbidden")]
    match seen.target:
        case "/robots.txt":
            return [page(b"User-agent: *\nAllow: /\nSitemap: http://a.test/sitemap.xml")]
        case "/sitemap.xml":
            return [page(SITEMAP, b"Content-Type: application/xml")]
        case "/":
            return [page(b'<a href="http://b.test/go">x</a>', HTML)]
        case "/go":
            return [page(b"", b"Location: http://a.test/there", status=b"302 Found")]
    return [page(b"text", HTML)]


async def crawl(folder: Path, port: int, identity: str) -> None:
    file = folder / "crawl.toml"
    place = f"127.0.0.1:{port}"
    file.write_text(
        '[crawl]\nseeds = ["http://a.test/"]\n[scope]\nwithin = "any"\n[politeness]\nmin_delay_s = 0\n'
        f'[fetch]\nhosts = {{ "a.test" = "{place}", "b.test" = "{place}" }}\n[identity]\n{identity}'
    )
    with CrawlDirectory(folder / "crawl") as directory:
        async with open_crawl(load(file), directory) as opened:
            await opened.engine.run()


@pytest.mark.parametrize("sign", ["always", "challenged", "never"])
async def test_a_crawl_signs_what_it_is_asked_to_sign(tmp_path: Path, sign: str) -> None:
    assert run("identity", "init", tmp_path / "keys").code == COMPLETE
    published = json.loads((tmp_path / "keys" / "http-message-signatures-directory").read_text())
    keys = {key["kid"]: key["x"] for key in published["keys"]}
    identity = (
        f'sign = "{sign}"\nkeys = {toml_value(str(tmp_path / "keys"))}\nagent = "https://bot.test"\n'
        'hosts = ["*.test", "a.test"]\nemail = "bot@bot.test"\n'
    )
    async with raw_server(answers) as server:
        await crawl(tmp_path, server.port, identity)
    signed = []
    for seen in server.seen:
        assert seen.header("from") == "bot@bot.test"
        if seen.header("signature") is not None:
            url = f"http://{seen.header('host')}{seen.target}"
            told = verify(seen.method, url, seen.header, keys)
            assert told.agent == 'sig1="https://bot.test"'
            signed.append(url)
    everything = {f"http://a.test{path}" for path in ("/robots.txt", "/sitemap.xml", "/", "/in", "/there")}
    statuses = {record.url: record.status for record in read_records(tmp_path / "crawl" / "records")}
    match sign:
        case "always":
            assert set(signed) == everything | {"http://b.test/robots.txt", "http://b.test/go"} | (
                {"http://b.test/sitemap.xml"} if "http://b.test/sitemap.xml" in signed else set()
            )
            assert statuses["http://a.test/there"] == 200
        case "challenged":
            assert set(signed) == everything
            unsigned = [seen.target for seen in server.seen if seen.header("signature") is None]
            assert sorted(unsigned) == ["/go", "/robots.txt", "/robots.txt"], "only b.test, and one refused request"
            assert statuses["http://a.test/there"] == 200
        case "never":
            assert signed == []
            assert statuses["http://a.test/"] == 403


def test_the_commands_make_show_and_renew_a_key(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    told = run("identity", "init", keys)
    assert told.code == COMPLETE
    assert "/.well-known/http-message-signatures-directory" in told.out
    assert "[identity]" in told.out
    private = next(keys.glob("*.pem")).read_text()
    assert base64.b64encode(base64.b64decode("".join(private.splitlines()[1:-1]))).decode() not in told.out
    again = run("identity", "init", keys)
    assert again.code == USAGE
    assert next(keys.glob("*.pem")).read_text() == private
    assert run("identity", "renew", keys).code == COMPLETE
    shown = json.loads(run("identity", "show", keys, "--json").out)
    assert [key["signs"] for key in shown["keys"]] == [True, False]
    assert "signs now" in run("identity", "show", keys).out
    assert run("identity", "show", tmp_path / "none").code == USAGE


def check(folder: Path, text: str) -> tuple[int, str]:
    file = folder / "crawl.toml"
    file.write_text(f'[crawl]\nseeds = ["http://a.test/"]\n{text}')
    told = json.loads(run("config", "check", file, "--json").out)
    return told["valid"], " ".join(each["message"] for each in (*told["problems"], *told["warnings"]))


def test_a_configuration_that_cannot_sign_is_refused_and_one_that_hides_is_warned_of(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    always = f'[identity]\nsign = "always"\nkeys = {toml_value(str(keys))}\n'
    valid, told = check(tmp_path, always)
    assert (valid, "identity.agent" in told or "publish the public keys" in told) == (False, True)
    agent = 'agent = "https://bot.test"\n'
    valid, told = check(tmp_path, f'[identity]\nsign = "always"\n{agent}')
    assert (valid, "onceover identity init" in told) == (False, True)
    valid, told = check(tmp_path, always + agent)
    assert (valid, "found none" in told) == (False, True)
    run("identity", "init", keys)
    assert check(tmp_path, always + agent) == (True, "")
    next(keys.glob("*.pem")).chmod(0o644)
    assert "chmod 600" in check(tmp_path, always + agent)[1]
    run("identity", "init", tmp_path / "short", "--days", 5)
    short = always.replace(str(keys), str(tmp_path / "short"))
    valid, told = check(tmp_path, short + agent)
    assert (valid, "onceover identity renew" in told) == (True, True)
    disguised = '[fetch]\nuser_agent = "Mozilla/5.0 (X11; Linux) us@our.site"\n'
    valid, told = check(tmp_path, disguised)
    assert (valid, "begins like a browser" in told, "names no page" in told) == (True, True, True)
    assert check(tmp_path, '[fetch]\nuser_agent = "our/1.0 (+https://our.site/bot)"\n') == (True, "")


def test_a_login_that_every_host_would_see_is_warned_of(tmp_path: Path) -> None:
    valid, told = check(tmp_path, '[fetch]\nheaders = { "authorization" = "Basic YTpi", "X-Key" = "1" }\n')
    assert valid
    assert told.startswith("authorization is sent to every host that the crawl asks: give it in fetch.logins")
    valid, told = check(tmp_path, '[fetch]\nheaders = { "Cookie" = "sid=1" }\n')
    assert (valid, "give it in a block [[site]] to the hosts that need it" in told) == (True, True)
    block = '[[site]]\nmatch = ["a.test"]\nfetch.headers = { "Cookie" = "sid=1" }\n'
    assert check(tmp_path, block) == (True, "")
