"""What the allocator is told, in a process of its own."""

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

CHURN = """
from pathlib import Path
from crawler.cli.run.allocator import settle_allocator

def kib():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])

told = settle_allocator()
bytes(30 << 20)
before = kib()
# Freed below a small block that stays: what is in the heap could not be given back.
large, small = [bytearray(b"x" * (2 << 20)) for _ in range(20)], []
for _ in range(20):
    small.append(bytearray(b"y" * 100_000))
del large
print(told, kib() - before)
"""


def churned(**environment: str) -> tuple[bool, int]:
    done = subprocess.run(
        [sys.executable, "-c", CHURN], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True
    )
    told, grown_kib = done.stdout.split()
    return told == "True", int(grown_kib)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has this")
def test_large_blocks_go_back_to_the_system() -> None:
    told, grown_kib = churned()
    assert told
    assert grown_kib < 8_000


def test_what_the_environment_says_goes_before() -> None:
    assert churned(MALLOC_MMAP_THRESHOLD_="33554432")[0] is False
