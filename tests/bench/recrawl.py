"""Schedules of visits at equal cost: how many copies are current, and how old the others are.

A site whose pages change at random, each at its own rate. A crawler visits as many pages in each round as there are,
always the one that is due first. Time is virtual, and no request is sent, so the figures are the same on any machine.

    python -m tests.bench.recrawl [--quick] [--rounds N] [--json] [--plot FILE.svg]
"""

import argparse
import heapq
import json
import math
import platform
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from crawler.revisit.allotment import AIMS, Allotment, Estimated
from crawler.revisit.schedules import Adaptive, Bounds, Fixed, Schedule, Visit
from frontier.visits import LastVisit, add_visit

SEED = 20
DAY_S = 86_400.0
ROUND_S = 7 * DAY_S
ROUNDS = 10
LOOKS_PER_ROUND = 20
CLASSES = ((0.4, 0.23), (3.0, 0.15), (15.0, 0.16), (70.0, 0.16), (300.0, 0.30))
"""Mean days between two changes of a page, and the share of such pages: the classes that Cho and Garcia-Molina found in
720,000 pages (The Evolution of the Web and Implications for an Incremental Crawler, 2000)."""
BOUNDS = Bounds(first_s=ROUND_S, min_s=ROUND_S / 4, max_s=ROUND_S * 8)


def change_rates(pages: int, chance: np.random.Generator) -> np.ndarray:
    """Changes per second of each page."""
    days = chance.choice([each for each, _ in CLASSES], size=pages, p=[share for _, share in CLASSES])
    spread = np.exp(chance.normal(0.0, 0.5, size=pages))
    rates: np.ndarray = spread / (days * DAY_S)
    return rates


def schedules() -> dict[str, Callable[[], Schedule]]:
    return {
        "fixed": lambda: Fixed(ROUND_S),
        "adaptive": lambda: Adaptive(BOUNDS),
        "estimate": lambda: Estimated(Allotment(BOUNDS, mean_s=lambda: ROUND_S)),
        "estimate for age": lambda: Estimated(Allotment(BOUNDS, mean_s=lambda: ROUND_S, aim=AIMS["age"])),
    }


class Simulated:
    """What became of the copies under one schedule: one number for each look, in time."""

    def __init__(self) -> None:
        self.fresh: list[float] = []
        self.age_days: list[float] = []
        self.visits = 0

    def mean_fresh(self, *, rounds: slice = slice(None)) -> float:
        return float(np.mean(np.reshape(self.fresh, (-1, LOOKS_PER_ROUND))[rounds]))

    def mean_age_days(self, *, rounds: slice = slice(None)) -> float:
        return float(np.mean(np.reshape(self.age_days, (-1, LOOKS_PER_ROUND))[rounds]))


def simulate(schedule: Schedule, rates: np.ndarray, chance: np.random.Generator, *, rounds: int = ROUNDS) -> Simulated:
    pages, found = len(rates), Simulated()
    visited_at = np.linspace(-ROUND_S, 0, pages, endpoint=False)
    waits_s = np.where(rates > 0, chance.exponential(size=pages) / np.maximum(rates, 1e-300), math.inf)
    changes_at = visited_at + waits_s
    earlier = [LastVisit(visits=1, fetched_at=float(at)) for at in visited_at]
    first = [schedule.interval_s(Visit()) for _ in range(pages)]
    due = [(float(at) + interval_s, page) for page, (at, interval_s) in enumerate(zip(visited_at, first, strict=True))]
    intervals = first
    heapq.heapify(due)
    gaps = chance.exponential(size=rounds * pages)
    next_look, looks_s = 0, ROUND_S / LOOKS_PER_ROUND
    for number in range(rounds * pages):
        now = (number + 1) * ROUND_S / pages
        while (next_look + 1) * looks_s <= now:
            next_look += 1
            late_s = np.maximum(next_look * looks_s - changes_at, 0.0)
            found.fresh.append(float(np.mean(late_s == 0)))
            found.age_days.append(float(np.mean(late_s)) / DAY_S)
        _, page = due[0]
        changed = bool(changes_at[page] <= now)
        history = add_visit(earlier[page], fetched_at=now, changed=changed)
        earlier[page] = LastVisit(visits=2, fetched_at=now, history=history)
        interval_s = schedule.interval_s(Visit(changed=changed, interval_s=intervals[page], history=history))
        intervals[page] = interval_s
        if changed:
            changes_at[page] = now + gaps[number] / rates[page]
        heapq.heapreplace(due, (now + interval_s, page))
        found.visits += 1
    return found


def plot(results: dict[str, Simulated], path: Path) -> None:
    mpl.rcParams["svg.hashsalt"] = "recrawl"
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    fresh, age = figure.subplots(1, 2)
    for name, found in results.items():
        rounds = np.arange(1, len(found.fresh) + 1) / LOOKS_PER_ROUND
        fresh.plot(rounds, found.fresh, label=name)
        age.plot(rounds, found.age_days, label=name)
    fresh.set(xlabel="round", ylabel="share of copies that are current")
    age.set(xlabel="round", ylabel="mean age of a copy, days")
    fresh.legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 pages instead of 50,000")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="10 by default")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures over time")
    arguments = parser.parse_args()
    pages = 2_000 if arguments.quick else 50_000
    rates = change_rates(pages, np.random.default_rng(SEED))
    rounds = arguments.rounds
    results = {
        name: simulate(make(), rates, np.random.default_rng(SEED + 1), rounds=rounds)
        for name, make in schedules().items()
    }
    last = slice(rounds // 2, None)
    figures: dict[str, float] = {"pages": pages, "rounds": rounds}
    for schedule, found in results.items():
        name = schedule.replace(" ", "_")
        figures[f"{name}_visits"] = found.visits
        figures[f"{name}_fresh"] = found.mean_fresh()
        figures[f"{name}_age_days"] = found.mean_age_days()
        figures[f"{name}_fresh_second_half"] = found.mean_fresh(rounds=last)
        figures[f"{name}_age_days_second_half"] = found.mean_age_days(rounds=last)
    if arguments.plot is not None:
        plot(results, arguments.plot)
    if arguments.json:
        machine = {"system": platform.platform(), "processor": platform.machine()}
        versions = {"python": platform.python_version(), "numpy": np.__version__}
        print(json.dumps({"machine": machine, "versions": versions, "seed": SEED, "figures": figures}))
        return
    print(f"{pages:,} pages, {rounds} rounds of {pages:,} visits; share of current copies and mean age in days")
    for name, found in results.items():
        whole, half = (
            (found.mean_fresh(rounds=part), found.mean_age_days(rounds=part)) for part in (slice(None), last)
        )
        print(f"{name:>16}  {whole[0]:.3f} {whole[1]:7.2f}    second half: {half[0]:.3f} {half[1]:7.2f}")


if __name__ == "__main__":
    main()
