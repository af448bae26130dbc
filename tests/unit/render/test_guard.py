"""That no page makes the browser, or the crawl, talk to a private address."""

import asyncio
import socket
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.page import Failure, FailureKind, Fetched, Request
from crawler.render import browser as browser_module
from crawler.render import launch
from crawler.testing.fetch.raw_server import Script, page, raw_server
from tests.unit.render.rendering import QUICK, html, needs_chromium, rendering

pytestmark = needs_chromium

ELEMENTS = """
<meta http-equiv=refresh content="0;url=http://TARGET/refresh">
<link rel=stylesheet href=http://TARGET/style.css>
<link rel=prefetch href=http://TARGET/prefetch>
<link rel=preload as=script href=http://TARGET/preload.js>
<link rel=modulepreload href=http://TARGET/modulepreload.js>
<link rel=preconnect href=http://TARGET>
<link rel=dns-prefetch href=//rebound.test>
<link rel=prerender href=http://TARGET/prerender>
<link rel=icon href=http://TARGET/icon>
<link rel=manifest href=http://TARGET/manifest>
<script type=speculationrules>{"prerender":[{"source":"list","urls":["http://TARGET/speculated"]}],
"prefetch":[{"source":"list","urls":["http://TARGET/speculated2"]}]}</script>
<style>@import "http://TARGET/import.css"; @font-face {font-family:f; src:url(http://TARGET/font)}
body {font-family:f; background:url(http://TARGET/background)}</style>
<body>
<img src=http://TARGET/img srcset="http://TARGET/srcset 2x">
<script src=http://TARGET/script.js></script>
<script type=module>import "http://TARGET/module.js"</script>
<iframe src=http://TARGET/iframe></iframe>
<iframe srcdoc="<img src=http://TARGET/srcdoc>"></iframe>
<object data=http://TARGET/object></object><embed src=http://TARGET/embed>
<video src=http://TARGET/video autoplay><track default src=http://TARGET/track></video><audio src=http://TARGET/audio>
</audio><svg><use href=http://TARGET/use#x></use><image href=http://TARGET/image /></svg>
<form id=form method=post target=frame action=http://TARGET/form><input name=a></form><iframe name=frame></iframe>
<a id=ping href=#here ping=http://TARGET/ping>x</a>
"""

SCRIPT = """
const attempt = (what) => { try { Promise.resolve(what()).catch(() => 0) } catch { } };
const spellings = [SPELLINGS];
for (const host of spellings) attempt(() => fetch(`http://${host}/fetched`));
for (const scheme of ["file:///etc/passwd", "ftp://TARGET/", "https://TARGET/", "chrome://version", "gopher://TARGET/"])
  attempt(() => fetch(scheme));
attempt(() => fetch("/to-private"));
attempt(() => fetch("http://TARGET/posted", {method: "POST", body: "x", mode: "no-cors"}));
attempt(() => fetch("http://TARGET/kept", {keepalive: true, mode: "no-cors"}));
attempt(() => { const x = new XMLHttpRequest(); x.open("GET", "http://TARGET/xhr"); x.send() });
attempt(() => navigator.sendBeacon("http://TARGET/beacon", "x"));
attempt(() => new WebSocket("ws://TARGET/socket"));
attempt(() => new EventSource("http://TARGET/events"));
attempt(() => new WebTransport("https://TARGET/transport").ready);
attempt(() => import("http://TARGET/dynamic.js"));
attempt(() => new Worker(URL.createObjectURL(new Blob([
  "fetch('http://TARGET/worker',{mode:'no-cors'}).catch(()=>0);" +
  "try{importScripts('http://TARGET/imported.js')}catch{};new WebSocket('ws://TARGET/')"]))));
attempt(() => new SharedWorker(URL.createObjectURL(new Blob(["fetch('http://TARGET/shared',{mode:'no-cors'})"]))));
attempt(() => navigator.serviceWorker.register("/service.js"));
attempt(() => open("http://TARGET/opened"));
attempt(() => form.submit());
attempt(() => ping.click());
for (const url of ["stun:DATAGRAMS", "turn:DATAGRAMS?transport=udp", "turn:TARGET?transport=tcp", "stun:rebound.test"])
  attempt(() => {
    const peer = new RTCPeerConnection({iceServers: [{urls: url, username: "u", credential: "c"}]});
    peer.createDataChannel("c");
    return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  });
attempt(() => {
  const peer = new RTCPeerConnection();
  peer.createDataChannel("c");
  return peer.createOffer().then((offer) => peer.setLocalDescription(offer))
    .then(() => peer.setRemoteDescription(
      {type: "answer", sdp: peer.localDescription.sdp.replace("actpass", "active")}))
    .then(() => peer.addIceCandidate({sdpMid: "0",
      candidate: "candidate:1 1 udp 2122260223 127.0.0.1 DATAGRAM_PORT typ host"}));
});
addEventListener("load", () => setTimeout(() => { location = "http://TARGET/location" }, 50));
"""

SPELLINGS = (
    "127.0.0.1", "127.1", "0177.0.0.1", "0x7f.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "0.0.0.0", "0", "[::]", "localhost", "any.localhost", "LOCALHOST.", "rebound.test",
    "１２７.０.０.１",
)  # fmt: skip
WITHOUT_PORT = ("169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "192.168.0.1", "172.16.0.1", "metadata.test")


class Rebinding(AbstractResolver):
    """Names of strangers that lead to the machines beside us."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        address = {"metadata.test": "169.254.169.254"}.get(host, "127.0.0.1")
        return [ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None: ...


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.came: list[bytes] = []

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.came.append(data)


def in_the_machines_network(folder: Path) -> SimpleNamespace:
    """The launcher, as where the system does not let a process leave the network."""
    text = Path(launch.__file__).read_text(encoding="utf-8")
    changed = text.replace("if _may_leave_network(libc):", "if False:")
    assert changed != text
    (folder / "launch.py").write_text(changed, encoding="utf-8")
    return SimpleNamespace(__file__=str(folder / "launch.py"))


@pytest.mark.parametrize("network", ["none", "the machine's"])
async def test_whatever_a_page_tries_it_reaches_no_private_address(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if network != "none":
        monkeypatch.setattr(browser_module, "launch", in_the_machines_network(tmp_path))
    transport, datagrams = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, local_addr=("127.0.0.1", 0)
    )
    datagram_port = transport.get_extra_info("sockname")[1]
    async with raw_server(lambda _: [page(b"secret")]) as private:
        target = f"127.0.0.1:{private.port}"
        spellings = [f'"{host}:{private.port}"' for host in SPELLINGS] + [f'"{host}"' for host in WITHOUT_PORT]
        text = (
            (ELEMENTS + f"<script>{SCRIPT}</script>")
            .replace("SPELLINGS", ",".join(spellings))
            .replace("TARGET", target)
            .replace("DATAGRAMS", f"127.0.0.1:{datagram_port}")
            .replace("DATAGRAM_PORT", str(datagram_port))
        )
        reports = f'endpoint="http://{target}/reports"'.encode()
        scripts: dict[str, Script] = {
            "/": html(
                text,
                b"Link: <http://%s/header>; rel=preload; as=script" % target.encode(),
                b"Content-Security-Policy-Report-Only: default-src 'none'; report-uri http://%s/csp; report-to endpoint"
                % target.encode(),
                b"Reporting-Endpoints: " + reports,
            ),
            "/to-private": [page(b"", b"Location: http://%s/redirected" % target.encode(), status=b"302 Found")],
            "/service.js": [page(b"fetch('http://%s/service')" % target.encode(), b"Content-Type: text/javascript")],
        }
        limits = msgspec.structs.replace(QUICK, idle_s=1.0, max_requests=500)
        async with rendering(
            scripts, tmp_path / "browsers", limits=limits, at_once=1, blocked=(), resolver=Rebinding()
        ) as web:
            answered: list[Fetched] = []
            plain = web.fetcher._loads._fetcher

            class Watched:
                async def fetch(self, request: Request, /) -> Fetched:
                    answered.append(await plain.fetch(request))
                    return answered[-1]

            web.fetcher._loads._fetcher = Watched()
            got = await web.page("/")
        assert got.rendering == "whole"
        assert b"secret" not in got.body
        assert private.connections == 0
        assert datagrams.came == []
        refused = {each.url for each in answered if isinstance(each, Failure)}
        kinds = {each.kind for each in answered if isinstance(each, Failure)}
        assert kinds == {FailureKind.PRIVATE_ADDRESS}
        for name in ("fetched", "redirected", "xhr", "script.js", "iframe", "img", "style.css", "worker", "dynamic.js"):
            assert f"http://{target}/{name}" in refused, name
        for host in WITHOUT_PORT:
            assert f"http://{host}/fetched" in refused, host
        assert all(each.url.startswith("http://www.site.test") for each in answered if not isinstance(each, Failure))
    transport.close()


async def test_the_browser_runs_without_a_network_where_the_system_lets_it(tmp_path: Path) -> None:
    async with rendering({}, tmp_path / "browsers") as web:
        pid = web.fetcher._browsers._idle[0]._process.pid
        assert pid is not None
        if Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            pytest.skip("this system lets no process leave the network")
        lines = Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii").splitlines()
        assert [line.split(":")[0].strip() for line in lines[2:] if "lo:" not in line] == []
