"""The trials of a comparison, and what their results must fulfil."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from config import Config
from crawler.compare.measure.competitor import Competitor
from crawler.compare.measure.running import run_in_process, schedule
from crawler.compare.measure.trial import Effort, Outcome, ReportProgress, Trial
from crawler.compare.measure.work import Work
from crawler.compare.report.expecting import Expectation
from crawler.compare.report.recommending import Requirements

# -P: the process must not import modules from the current directory.
_COMMAND = (sys.executable, "-P", "-m", "crawler.wiring.comparing.worker")
_LIVE_COMMAND = (sys.executable, "-P", "-m", "crawler.cli.compare.live")


def trials_of(config: Config, works: Sequence[Work], entered: Sequence[Competitor]) -> list[Trial]:
    compare = config.compare
    effort = Effort(
        probes=compare.probes, past_capacity=compare.past_capacity, memory_bytes=compare.memory_bytes, seed=compare.seed
    )
    return list(schedule(works, entered, rounds=compare.rounds, effort=effort, version=version("onceover-crawler")))


async def run_trial(config: Config, scratch: Path, trial: Trial, report: ReportProgress) -> Outcome:
    command = _LIVE_COMMAND if trial.kind == "crawl" else _COMMAND
    return await run_in_process(
        trial, report, command=command, scratch=scratch, timeout_s=config.compare.trial_timeout_s
    )


def requirements(config: Config) -> Requirements:
    return Requirements(max_loss=config.compare.max_loss, max_memory_bytes=config.compare.max_memory_bytes)


def expectations(config: Config) -> list[Expectation]:
    return [Expectation(**msgspec.structs.asdict(each)) for each in config.compare.expect]
