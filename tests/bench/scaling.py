"""What crawls of 4 to 256 parts would do, computed from what single parts and single pages cost here.

Nobody can run 256 parts on one desk. This simulates them: in steps as long as links gather, each part fetches as many
pages as its core has time for. Each page has links to other sites, as many as those of real pages; sites belong to
parts as in a crawl; popular sites are linked to more often. A part pays for its pages, for links that it sends and
receives, and for messages. Redis pays for messages and bytes. The rate of each part follows from what it has paid, so
a part that owns a popular site becomes slower.

The constants are in `Constants`, each with where it comes from. `--redis` measures those of Redis with a server of its
own. No figure is a measurement of a crawl in so many parts.
"""

import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import redis
from matplotlib import pyplot as plt

from crawler.parts.exchange.redis_streams import WRITE
from crawler.parts.exchange.sending import GATHER_S, gather_s
from crawler.parts.ownership import Ownership
from tests.bench.parts_links import LINKS, cost_of_links
from tests.bench.report import Options, emit, options, tell
from tests.redis_server import RedisServer

PARTS: Final = (4, 8, 16, 32, 64, 128, 256)
FOREIGN_LINKS: Final = (0, 3, 5, 8, 10, 13, 16, 21, 28, 40, 88)
"""Deciles of the links of a page that lead to other registered domains, of 718 real pages: 18.8 of 98.4 in the mean.
The last one is such that this is the mean between them, too."""
LINKS_PER_SITE: Final = 18.8 / 10.4
"""These links lead to 10.4 sites in the mean."""
POPULARITY: Final = 0.9
"""The exponent with which links to a site fall with its rank, on these pages. The first one gets 8 % of all."""
SITES: Final = 200_000
"""So many that the tail does not matter."""
_EVERY_S: Final = 1.0
"""A receiver confirms at least so often, when it has synced."""
_RENEW_S: Final = 2.5
"""How often a part shows the others that it is there."""
_ROUNDS: Final = 12
"""Until the rates of all parts have settled."""
_MORE: Final = {
    "redis": "measure the constants of Redis first",
    "links": "measure those of links and messages first",
    "plot": "draw docs/images/scaling.svg",
}
_MEANINGS: Final = {
    "pages_per_s": "of all parts",
    "efficiency": "pages per second and part, over those of a part alone",
    "slowest": "rate of the slowest part, over the mean",
    "crossing": "links of a page that go to another part",
    "links_per_message": "confirmations and signs of life not counted",
    "messages_per_s": "of all parts, confirmations and signs of life included",
    "redis_commands_per_s": "",
    "redis_mb_per_s": "in and out",
    "redis_cores": "that one server, or the nodes of a cluster, need in all",
}


class Constants(msgspec.Struct, frozen=True, kw_only=True):
    """What things cost. Microseconds of processor time on the machine of docs/scaling.md."""

    page_us: float = 4_000.0
    """A page of 150 kB with 98 links, fetched over TLS, read, recorded and archived: `tests.bench.crawl`, pages of the
    manual of Python (95 kB), and what TLS and the archive add."""
    crossing_us: float = 6.4
    """A link that crosses, at each end: `--links` measures it, in batches of 40. At its own end a page would have paid
    as much for admitting it."""
    message_us: float = 750.0
    """A message of links, from outbox to confirmation and deletion, both ends together: `--links` measures it."""
    redis_message_us: float = 22.0
    """A message in Redis: writing, reading and deleting an entry: `--redis` measures it, as the next two."""
    redis_kb_us: float = 2.0
    """For each kilobyte of it."""
    redis_commands: float = 3.5
    """Of a message, by the server's own account."""
    link_bytes: float = 120.0
    """A link on its way: its URL of 61 bytes, where it was found, and what belongs to it."""


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl in so many parts, once its rates have settled."""

    parts: int
    pages_per_s: float
    efficiency: float
    slowest: float
    crossing: float
    links_per_message: float
    messages_per_s: float
    redis_commands_per_s: float
    redis_mb_per_s: float
    redis_cores: float


def site_shares(parts: int, *, sites: int = SITES) -> np.ndarray:
    """The share of links to other sites that each part gets, as they own the sites."""
    owner = Ownership(parts).owner
    owners = np.array([owner(f"test,site-{number}") for number in range(sites)])
    weights = np.arange(1, sites + 1, dtype=float) ** -POPULARITY
    return np.bincount(owners, weights / weights.sum(), minlength=parts)


def simulate(parts: int, constants: Constants, *, seed: int = 1, steps: int = 20, sites: int = SITES) -> Simulated:
    """Raises ValueError for fewer than two parts."""
    if parts < 2:
        raise ValueError(f"one part sends nothing; expected 2 or more, got {parts}")
    random = np.random.default_rng(seed)
    shares = site_shares(parts, sites=sites)
    alone = 1e6 / constants.page_us
    rates = np.full(parts, alone)
    links = data = np.zeros((parts, parts))
    for _ in range(_ROUNDS):
        links, data = _links_and_messages(random, rates, shares, steps)
        # The sender would have admitted the link, at the same cost. Messages are paid for by both ends.
        paid = constants.crossing_us * links.sum(axis=0)
        paid += constants.message_us / 2 * (data.sum(axis=0) + data.sum(axis=1))
        # Halfway, so that rates do not swing.
        rates = np.maximum(0.02 * alone, (rates + (1e6 - paid) / constants.page_us) / 2)
    pages, crossing, sent = float(rates.sum()), float(links.sum()), _all_messages(data)
    moved = crossing * constants.link_bytes
    return Simulated(
        parts=parts,
        pages_per_s=pages,
        efficiency=pages / parts / alone,
        slowest=float(rates.min() / rates.mean()),
        crossing=crossing / pages,
        links_per_message=crossing / float(data.sum()),
        messages_per_s=sent,
        redis_commands_per_s=sent * constants.redis_commands,
        redis_mb_per_s=2 * moved / 1e6,
        redis_cores=(sent * constants.redis_message_us + moved / 1000 * constants.redis_kb_us) / 1e6,
    )


def _links_and_messages(
    random: np.random.Generator, rates: np.ndarray, shares: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Per second: links, and messages of links, from each part to each other."""
    parts, step_s = len(rates), gather_s(len(rates))
    links, batches = np.zeros((parts, parts)), np.zeros((parts, parts))
    deciles = np.array(FOREIGN_LINKS, dtype=float)
    for _ in range(steps):
        pages = random.poisson(rates * step_s)
        drawn = np.interp(random.random(int(pages.sum())), np.linspace(0, 1, len(deciles)), deciles)
        of_part = np.bincount(np.repeat(np.arange(parts), pages), drawn, minlength=parts)
        groups = random.poisson(np.outer(of_part / LINKS_PER_SITE, shares))
        np.fill_diagonal(groups, 0)
        links += groups * LINKS_PER_SITE
        batches += groups > 0
    return links / (steps * step_s), batches / (steps * step_s)


def _all_messages(data: np.ndarray) -> float:
    """Per second, with confirmations and signs of life."""
    # Each message of links is confirmed; what was synced is confirmed once a second; signs of life go on always.
    messages = 2 * data + np.minimum(1.0, data * _EVERY_S) / _EVERY_S + 1 / _RENEW_S
    np.fill_diagonal(messages, 0)
    return float(messages.sum())


def measure_links(*, pages: int, messages: int) -> Mapping[str, float]:
    """What a link costs each end that crosses in a large batch, and what a message of one link costs both."""
    with tempfile.TemporaryDirectory() as folder:
        crosses, alone, sent = (
            _cost_of_links(Path(folder) / name, count, crosses=name != "alone", is_single=name != "crosses")
            for name, count in (("crosses", pages), ("alone", messages), ("sent", messages))
        )
    return {"crossing_us": crosses / 2, "message_us": sent - alone}


def _cost_of_links(folder: Path, pages: int, *, crosses: bool, is_single: bool) -> float:
    """Microseconds for each link. Single ones have a message of their own."""
    folder.mkdir()
    links, pause_s, sync_s = (1, 1.5 * GATHER_S, _EVERY_S) if is_single else (LINKS, 0.0, 0.2)
    began = time.process_time()
    asyncio.run(cost_of_links(folder, pages, crosses=crosses, links=links, pause_s=pause_s, sync_s=sync_s))
    return (time.process_time() - began) / pages / links * 1e6


def measure_redis(*, messages: int) -> Mapping[str, float]:
    """What a message costs a server of Redis: a script that writes one entry, a read and a deletion."""
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder))
        server.start()
        try:
            small, commands = _cost_of_messages(server, messages, 300)
            large, _ = _cost_of_messages(server, messages, 20_300)
        finally:
            server.kill()
    return {
        "redis_message_us": small - 0.3 * (large - small) / 20,
        "redis_kb_us": (large - small) / 20,
        "redis_commands": commands,
    }


def _cost_of_messages(server: RedisServer, messages: int, size: int) -> tuple[float, float]:
    """Microseconds of the server for a message, and commands."""
    with redis.Redis.from_url(server.url) as client:
        keys, content = ("{bench:1}:registration", "{bench:1}:stream"), b"x" * size
        client.set(keys[0], "1", px=600_000)
        before = _account(client)
        for number in range(messages):
            client.eval(WRITE, 2, *keys, "1", content)
            if number % 4 == 3:  # some come together when a part is busy
                found = client.execute_command("XREAD", "COUNT", 128, "STREAMS", keys[1], "0")
                client.xdel(keys[1], *[entry for entry, _ in found[0][1]])
        after = _account(client)
    return (after[0] - before[0]) / messages * 1e6, (after[1] - before[1]) / messages


def _account(client: redis.Redis) -> tuple[float, float]:
    """Seconds of processor time of the server, and its commands."""
    told = client.info()
    return told["used_cpu_user"] + told["used_cpu_sys"], told["total_commands_processed"]


def plot(found: Sequence[Simulated], path: Path) -> None:
    """Pages per second, and what Redis needs for them."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    parts = [each.parts for each in found]
    left.plot(parts, [each.pages_per_s for each in found], "o-", label="all parts")
    alone = found[0].pages_per_s / found[0].efficiency / found[0].parts
    left.plot(parts, [alone * number for number in parts], "--", label="without links between them")
    right.plot(parts, [each.redis_cores for each in found], "o-")
    right.axhline(1, linestyle="--", label="what one server has")
    for axes, title in ((left, "pages per second"), (right, "cores of Redis")):
        axes.set(xscale="log", yscale="log", xlabel="parts", title=title)
        axes.set_xticks(parts, [str(number) for number in parts], minor=False)
        axes.minorticks_off()
        axes.legend(frameon=False)
    with plt.rc_context({"svg.hashsalt": "scaling", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    asked: Options = options(__doc__ or "", more=_MORE)
    constants, figures = Constants(), dict[str, float]()
    if "redis" in asked.also:
        figures |= measure_redis(messages=2_000 if asked.quick else 20_000)
    if "links" in asked.also:
        figures |= measure_links(pages=500 if asked.quick else 5_000, messages=50 if asked.quick else 400)
    constants = msgspec.structs.replace(constants, **figures)
    all_found = []
    for parts in PARTS[:3] if asked.quick else PARTS:
        began = time.perf_counter()
        found = simulate(parts, constants, seed=asked.seed, sites=20_000 if asked.quick else SITES)
        all_found.append(found)
        tell(f"{parts} parts: {found.pages_per_s:,.0f} pages/s, in {time.perf_counter() - began:.1f} s")
        for name, value in msgspec.structs.asdict(found).items():
            if name != "parts":
                figures[f"{name}_{parts}"] = value
    if "plot" in asked.also:
        plot(all_found, Path("docs/images/scaling.svg"))
    meanings = {f"{name}_{parts}": text for parts in PARTS for name, text in _MEANINGS.items()}
    emit(figures, asked=asked, packages=("onceover-crawler", "numpy", "redis"), meanings=meanings)


if __name__ == "__main__":
    main()
