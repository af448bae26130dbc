"""Where the processor time of a page goes: microseconds per step, for pages of 8 and 95 KB, plain and over TLS.

The simulated web, 40 links a page; records on, archive off, connections kept. A timer of processor time samples the
stack of the crawl each millisecond, from the first lease to the last: a sample belongs to the innermost function whose
file is one of a step. Python calls the sampler between two of its own instructions, so what runs in C belongs to its
caller. `--table` prints the table of docs/architecture.md.
"""

import json
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any, Final

import msgspec

from crawler.cli import main as onceover
from crawler.engine import Ending, Engine
from crawler.simweb.params import WorldParams
from crawler.simweb.process import PLAIN, Connections, running
from tests.bench.crawl_tls import issued
from tests.bench.measured import UNHINDERED, measured, setting
from tests.bench.report import Options, emit, options, tell

STEPS: Final = {
    "fetch": ("crawler/fetch/",),
    "read": ("crawler/read/", "crawler/reading.py"),
    "judge links": ("crawler/url/", "crawler/discover/"),
    "frontier and visited set": ("frontier/", "visited/"),
    "record": ("crawler/record/",),
    "write": ("crawler/write/", "crawler/disk/"),
}
"""The files of each step, by the beginnings of their paths."""
REST: Final = "loop, tasks and the rest"
WHOLE: Final = "**whole page**"
CASES: Final = {"8 KB": (8, False), "95 KB": (95, False), "8 KB, TLS": (8, True), "95 KB, TLS": (95, True)}
"""The size of a page in KB, and whether it comes over TLS."""
_ROOT: Final = f"{Path(__file__).parents[2]}/"
_EVERY_S: Final = 0.001


class _Sampled(msgspec.Struct):
    """What a crawl took from its first lease to its last."""

    cpu_s: float
    samples: dict[str, int]


def main(asked: Options) -> dict[str, dict[str, float]]:
    """Microseconds per page, by case and step, of the cheapest round: other work on the machine only adds to it."""
    found: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        certificates = issued(Path(folder))
        for turn in range(1 if asked.quick else 3):
            for case, (size, tls) in CASES.items():
                params = WorldParams(
                    seed=asked.seed,
                    hosts=20,
                    pages_per_host=(4_000 if size == 8 else 1_000) // (200 if asked.quick else 20),
                    page_bytes=size * 1_000,
                    https=tls,
                )
                connections = Connections(certificate=certificates.server) if tls else PLAIN
                place = Path(folder) / f"{turn}-{size}-{tls}"
                with running(params, connections=connections, cache_bytes=1_000_000_000) as port:
                    seed = f"http{'s' if tls else ''}://h00000.sim.test:{port}/"
                    costs = _costs(seed, place, authority=certificates.authority)
                tell(f"round {turn + 1}, {case}: {costs[WHOLE]:,.0f} µs a page")
                found[case].append(costs)
    return {case: min(rounds, key=lambda costs: costs[WHOLE]) for case, rounds in found.items()}


def table(costs: dict[str, dict[str, float]]) -> str:
    """As docs/architecture.md has it."""
    lines = [f"| step | {' | '.join(CASES)} |", f"|---|{'---|' * len(CASES)}"]
    steps = (*STEPS, REST, WHOLE)
    lines += [f"| {step} | {' | '.join(f'{costs[case][step]:.0f}' for case in CASES)} |" for step in steps]
    return "\n".join(lines)


def _costs(seed: str, place: Path, *, authority: Path) -> dict[str, float]:
    samples = place.with_suffix(".json")
    command = ["sampled", str(samples), "crawl", "--seed", seed, "--dir", str(place), "--json"]
    command += setting(*UNHINDERED, f'fetch.authorities=["{authority}"]')
    out, _, _ = measured(command, program="tests.bench.budget")
    pages: int = msgspec.json.decode(out)["status"]["pages"]
    found = msgspec.json.decode(samples.read_bytes(), type=_Sampled)
    whole_us, counted = found.cpu_s / pages * 1e6, sum(found.samples.values())
    shares = {step: found.samples.get(step, 0) / counted for step in (*STEPS, REST)}
    return {step: share * whole_us for step, share in shares.items()} | {WHOLE: whole_us}


def step_of(frame: FrameType | None) -> str:
    """The step to which a stack belongs."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_ROOT):
            inside = file[len(_ROOT) :]
            for step, beginnings in STEPS.items():
                if inside.startswith(beginnings):
                    return step
        frame = frame.f_back
    return REST


def _sampled(file: Path, arguments: list[str]) -> None:
    """Run the command, and write what its crawl took to a file."""
    samples: Counter[str] = Counter()
    run = Engine.run

    async def sampled_run(engine: Engine) -> Ending:
        began = process_time()
        signal.signal(signal.SIGPROF, lambda _, frame: samples.update((step_of(frame),)))
        signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
        try:
            return await run(engine)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            file.write_text(json.dumps({"cpu_s": process_time() - began, "samples": samples}))

    changed: Any = Engine
    changed.run = sampled_run
    sys.argv = ["onceover", *arguments]
    onceover()


if __name__ == "__main__":
    if sys.argv[1:2] == ["sampled"]:
        _sampled(Path(sys.argv[2]), sys.argv[3:])
    else:
        chosen = options(__doc__ or "", more={"table": "print the table of docs/architecture.md instead"})
        measured_costs = main(chosen)
        if "table" in chosen.also:
            sys.stdout.write(f"{table(measured_costs)}\n")
        else:
            figures = {
                f"{case}: {step}": cost for case, steps in measured_costs.items() for step, cost in steps.items()
            }
            emit(figures, asked=chosen, packages=("aiohttp", "uvloop", "selectolax", "msgspec"))
