"""No input, wrong argument, lack of memory or garbage makes the compiled extensions break the rules of C, or leak."""

import sys
from pathlib import Path

import pytest

from tests.conftest import CORPORA
from tests.sanitizers.build import extensions, run, what_is_missing

MISSING = what_is_missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=f"the sanitizers need {MISSING}")

OURS = sorted(set(extensions()) - {"faulty"})
CASES = 150
FEW_CASES = 30
"""Of link_table, a case of which takes ten times as long as one of the others."""
LONG_CASES = 20_000


def judge(name: str, *, cases: int, seed: int = 1, corpora: Path | None = None) -> None:
    done = run(name, cases=cases, seed=seed, corpora=corpora)
    assert done.returncode == 0, f"{done.stderr[:4000]}\n...\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("name", OURS)
def test_an_extension_has_no_fault(name: str) -> None:
    judge(name, cases=FEW_CASES if name == "link_table" else CASES)


@pytest.mark.parametrize("name", ["markup", "scan"])
def test_an_extension_has_no_fault_on_real_pages(name: str, corpora: Path) -> None:
    judge(name, cases=CASES, corpora=corpora)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("name", OURS)
def test_in_the_long_run_an_extension_has_no_fault(name: str, seed: int) -> None:
    real = name in {"markup", "scan"} and seed % 2 and CORPORA.is_dir()
    judge(name, cases=LONG_CASES, seed=seed, corpora=CORPORA if real else None)


@pytest.mark.parametrize(
    ("fault", "report"),
    [
        ("overrun", "AddressSanitizer: heap-buffer-overflow"),
        ("overflow", "runtime error: signed integer overflow"),
        ("leak", "bytes were left behind"),
        ("fail_silently", "SystemError"),
    ],
)
def test_a_fault_is_found(fault: str, report: str) -> None:
    done = run("faulty", cases=1, FAULT=fault)
    assert done.returncode != 0
    assert report in done.stderr


def test_a_fault_where_memory_runs_out_is_found() -> None:
    done = run("faulty", cases=1, FAULT="trust_memory")
    assert done.returncode != 0
    assert "the last case of faulty, seed 1, was 0, without memory" in done.stderr


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="garbage is not collected within a call since Python 3.12")
def test_a_fault_where_garbage_is_collected_is_found() -> None:
    done = run("faulty", cases=1, FAULT="trust_collector")
    assert done.returncode != 0
    assert "AddressSanitizer: heap-use-after-free" in done.stderr
    assert "the last case of faulty, seed 1, was 0, with garbage" in done.stderr


def test_what_has_no_fault_passes() -> None:
    done = run("faulty", cases=1, FAULT="obey")
    assert done.returncode == 0, done.stderr
