"""What TLS costs: `python -m tests.bench.crawl --tls`.

The simulated web over TLS 1.3, with a certificate of its own: P-256, two certificates verified. Pages of 8, 95 and
242 KB, compressed as servers do; each page over a new connection, or connections kept; beside them the bare client
that fetches the same URLs, Scrapy, and for pages of 8 KB plain HTTP. Only processor time counts, so other work on the
machine and the speed of the server disturb little: a rate is pages for a second of it. What a second start costs,
which finds nothing to do, is subtracted.

The last crawls have very many hosts with a delay each: see `tests.bench.many_hosts`.
"""

import statistics
import tempfile
from importlib.util import find_spec
from pathlib import Path

import msgspec
import trustme

from crawler.simweb.params import WorldParams
from crawler.simweb.process import Connections, running
from crawler.write.records import read_records
from tests.bench import many_hosts
from tests.bench.measured import UNHINDERED, measured, setting
from tests.bench.report import Options, spread, tell

SIZES_KB = (8, 95, 242)
MEANINGS = {
    "share_of_bare_aiohttp_tls_new": "of the bare client's rate, pages of 8 KB, a new connection for each page",
    "share_of_bare_aiohttp_tls_new_95": "the same for pages of 95 KB",
    "share_of_bare_aiohttp_tls_new_242": "the same for pages of 242 KB",
    "share_of_plain_tls_kept": "of the rate without TLS, pages of 8 KB, connections kept",
    **{
        f"{kind}_pages_per_cpu_s_{size}": f"pages of {size} KB for a second of processor time, connections {kind}"
        for size in SIZES_KB
        for kind in ("new", "kept")
    },
    "ratio_scrapy_tls_new": "times Scrapy's rate, pages of 8 KB, a new connection for each page",
    "handshakes_per_page_new": "with a new connection for each page",
    "handshakes_per_page_kept": "with connections kept",
    "share_resumed_new": "of the handshakes, with a new connection for each page",
    "handshake_us": "processor time of a new connection over TLS more than of a kept one, pages of 8 KB",
    **many_hosts.MEANINGS,
}


class Certificates(msgspec.Struct, frozen=True):
    authority: Path
    server: Path


class _Run(msgspec.Struct, frozen=True):
    """What a crawl took."""

    pages: int
    cpu_s: float
    handshakes: int = 0
    resumed: int = 0

    @property
    def rate(self) -> float:
        """Pages for a second of processor time."""
        return self.pages / self.cpu_s


def main(asked: Options) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        certificates = issued(Path(folder))
        for turn in range(1 if asked.quick else 3):
            place = Path(folder) / str(turn)
            place.mkdir()
            figures: dict[str, float] = {}
            for size in SIZES_KB:
                figures |= _of_size(size, place, certificates, asked)
            for name, value in figures.items():
                found.setdefault(name, []).append(value)
                tell(f"round {turn + 1}: {name} {value:.4g}")
        for name, value in many_hosts.main(asked, Path(folder), certificates.server, certificates.authority).items():
            found[name] = [value]
    for name, values in found.items():
        tell(f"{name}: {spread(values, digits=2)}")
    return {name: statistics.median(values) for name, values in found.items()}


def issued(folder: Path) -> Certificates:
    root = trustme.CA()
    chain = root.create_child_ca().issue_cert("*.sim.test")
    paths = Certificates(folder / "authority.pem", folder / "server.pem")
    root.cert_pem.write_to_path(paths.authority)
    chain.private_key_and_cert_chain_pem.write_to_path(paths.server)
    return paths


def _of_size(size: int, place: Path, certificates: Certificates, asked: Options) -> dict[str, float]:
    # Enough that the cost of a start, which varies by a tenth of a second, is lost in that of the pages.
    pages = {8: 3000, 95: 2000, 242: 1500}[size] // (3 if asked.quick else 1)
    params = WorldParams(
        seed=asked.seed, hosts=20, pages_per_host=pages // 20, page_bytes=size * 1000, compressed=1.0, https=True
    )
    place = place / str(size)
    place.mkdir()
    figures: dict[str, float] = {}
    rates: dict[str, float] = {}
    for kind in ("new", "kept"):
        connections = Connections(certificate=certificates.server, keep_alive=kind == "kept")
        with running(params, connections=connections, cache_bytes=1_000_000_000) as port:
            run = _crawl(place / kind, f"https://h00000.sim.test:{port}/", certificates)
            rates[kind] = figures[f"{kind}_pages_per_cpu_s_{size}"] = run.rate
            if size == SIZES_KB[0]:
                figures[f"handshakes_per_page_{kind}"] = run.handshakes / run.pages
            if kind == "new":
                bare = _bare(place, port, certificates)
                figures[f"share_of_bare_aiohttp_tls_new{'' if size == 8 else f'_{size}'}"] = run.rate / bare
                figures["share_resumed_new"] = run.resumed / run.handshakes
                scrapy = _scrapy(place, port) if size == SIZES_KB[0] else None
                if scrapy is not None:
                    figures["ratio_scrapy_tls_new"] = run.rate / scrapy
    if size == SIZES_KB[0]:
        figures["handshake_us"] = (1 / rates["new"] - 1 / rates["kept"]) * 1e6
        with running(msgspec.structs.replace(params, https=False), cache_bytes=1_000_000_000) as port:
            plain = _crawl(place / "plain", f"http://h00000.sim.test:{port}/", certificates)
        figures["share_of_plain_tls_kept"] = rates["kept"] / plain.rate
    return figures


def _crawl(place: Path, seed: str, certificates: Certificates) -> _Run:
    command = ["crawl", "--seed", seed, "--dir", str(place), "--json"]
    command += setting(*UNHINDERED, f'fetch.authorities=["{certificates.authority}"]')
    out, cpu_s, _ = measured(command)
    cpu_s -= measured(command)[1]
    status = msgspec.json.decode(out)["status"]
    connections = status["connections"]
    return _Run(
        pages=status["pages"],
        cpu_s=cpu_s,
        handshakes=connections["tls_handshakes"],
        resumed=connections["tls_resumed"],
    )


def _bare(place: Path, port: int, certificates: Certificates) -> float:
    """The rate of the bare client for the URLs of the crawl with new connections."""
    urls, none, program = place / "urls.txt", place / "none.txt", "tests.bench.peers.aiohttp_fetch"
    urls.write_text("".join(f"{record.url}\n" for record in read_records(place / "new" / "records")))
    none.write_text("")
    more = [str(port), str(certificates.authority)]
    out, cpu_s, _ = measured([str(urls), *more], program=program)
    start_cpu_s = measured([str(none), *more], program=program)[1]
    pages: int = msgspec.json.decode(out)["pages"]
    return pages / (cpu_s - start_cpu_s)


def _scrapy(place: Path, port: int) -> float | None:
    """The rate of Scrapy, which does not verify certificates. None if it is not installed."""
    if find_spec("scrapy") is None:
        tell("Scrapy is not installed; its figures are left out")
        return None
    directory = place / "scrapy"
    directory.mkdir()
    command, program = (
        [f"https://h00000.sim.test:{port}/", str(directory), "sim.test"],
        "tests.bench.peers.scrapy_crawl",
    )
    out, cpu_s, _ = measured(command, program=program)
    start_cpu_s = measured(command, program=program)[1]
    pages: int = msgspec.json.decode(out)["pages"]
    return pages / (cpu_s - start_cpu_s)
