"""That the descriptor of each set says what the set does."""

import io
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.unit.visited.sets import PARAMETERS
from visited import SnapshotRefused
from visited.backends import BACKENDS, descriptor, descriptors
from visited.making import cost_of_set, make_set

URLS = [f"https://h{number % 17}.test/{number}" for number in range(5_000)]


def test_each_name_leads_to_a_descriptor_of_this_name() -> None:
    assert [each.name for each in descriptors()] == list(BACKENDS)
    with pytest.raises(KeyError):
        descriptor("cuckoo")


def test_the_names_can_be_read_without_numpy_and_without_any_set() -> None:
    code = "import sys, visited.backends; print([name for name in sys.modules if name in ('numpy', 'plyvel')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("name", [each.name for each in descriptors() if each.cost is not None])
async def test_the_formulas_of_cost_are_those_of_the_full_set(name: str, tmp_path: Path) -> None:
    expected = cost_of_set(descriptor(name), len(URLS), 0.01, {})
    assert expected is not None
    parameters = msgspec.structs.replace(
        PARAMETERS, capacity=len(URLS), error_rate=0.01, directory=tmp_path if descriptor(name).folder else None
    )
    visited = make_set(descriptor(name), parameters, {})
    await visited.add_many(URLS)
    found = visited.describe()
    # Small sets have a page of memory more, and those on disk need less than their most until they are large.
    assert found.memory_bytes <= 1.3 * expected.memory_bytes + (1 << 18)
    assert found.false_positive_rate == pytest.approx(expected.false_positive_rate, rel=0.5, abs=1e-12)
    await visited.aclose()


@pytest.mark.parametrize("options", [{"bits": 64}, {"bits": 1 << 24}, {"bits_per_url": 1}, {"bits_per_url": 1000}])
async def test_a_bloom_filter_of_any_size_is_made_and_tells_the_rate_that_follows(options: dict[str, int]) -> None:
    visited = make_set(descriptor("bloom"), PARAMETERS, options)
    await visited.add_many([f"{url}/{turn}" for url in URLS for turn in range(4)])
    cost = cost_of_set(descriptor("bloom"), PARAMETERS.capacity, PARAMETERS.error_rate, options)
    assert cost is not None
    assert visited.describe().false_positive_rate == pytest.approx(cost.false_positive_rate, rel=0.1, abs=1e-9)


async def test_a_set_is_spread_over_shards_each_for_its_share_of_the_capacity(tmp_path: Path) -> None:
    many = make_set(descriptor("bloom"), PARAMETERS, {"shards": 4, "seed": 3}).describe()
    assert (many.backend, many.capacity) == ("sharded", PARAMETERS.capacity)
    on_disk = msgspec.structs.replace(PARAMETERS, directory=tmp_path)
    leaves = make_set(descriptor("dsbf"), on_disk, {"shards": 3})
    await leaves.add_many(URLS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]
    await leaves.aclose()


async def test_the_hosts_of_a_domain_share_a_filter_if_the_options_say_so() -> None:
    urls = [f"https://h{number}.d{number % 3}.test/" for number in range(30)]
    by_host, by_domain = (make_set(descriptor("per-site"), PARAMETERS, {"by": by}) for by in ("host", "domain"))
    for visited, filters in ((by_host, 30), (by_domain, 3)):
        await visited.add_many(urls)
        assert visited.describe().details["filters"] == filters
    file = io.BytesIO()
    by_host.dump(file)
    file.seek(0)
    with pytest.raises(SnapshotRefused, match="made with by = 'host'"):
        by_domain.load(file)


def test_a_set_on_disk_is_not_made_without_a_directory() -> None:
    with pytest.raises(ValueError, match="exact-leveldb needs a directory, found none"):
        make_set(descriptor("exact-leveldb"), PARAMETERS, {})
