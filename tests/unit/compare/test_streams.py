"""That a stream is what its parameters say."""

import gzip
import io
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from crawler.compare.measure.preparing import (
    STDIN,
    Unreadable,
    WorkRefused,
    spool,
    synthetic_work,
    urls_of_file,
    urls_of_pages,
)
from crawler.compare.measure.synthetic import Synthetic
from crawler.compare.measure.work import (
    Spooled,
    batches,
    chunks,
    new_batches,
)
from crawler.url.urls import UrlReader, host_of
from visited.digests.exact import ExactSet


def canonical(url: str) -> str:
    return UrlReader().seed(url).canonical


def links(parts: Iterator[list[str]]) -> list[str]:
    return [url for part in parts for url in part]


@given(st.integers(1, 20_000), st.floats(0, 0.95), st.integers(1, 500), st.integers(0, 1000))
def test_a_computed_stream_has_each_of_its_urls_and_no_other(
    distinct: int, repeats: float, size: int, seed: int
) -> None:
    stream = Synthetic(distinct=distinct, repeats=repeats, seed=seed)
    found = list(stream.batches(size))
    assert all(len(each) == size for each in found[:-1])
    assert list(dict.fromkeys(links(iter(found)))) == links(stream.new_batches(size))
    assert len(links(stream.new_batches(size))) == distinct


def test_a_computed_stream_has_the_repeats_lengths_and_hosts_that_were_asked_for() -> None:
    made = synthetic_work("w", Synthetic(distinct=50_000, repeats=0.6, hosts=300, skew=1.0, length=90))
    assert made.survey.repeats == pytest.approx(0.6, abs=0.01)
    assert made.survey.mean_length == pytest.approx(90, rel=0.05)
    assert made.survey.hosts == 300
    hosts = Counter(map(host_of, links(new_batches(made))))
    shares = [1 / rank for rank in range(1, 301)]
    assert hosts["h000000.example"] == pytest.approx(50_000 / sum(shares), rel=0.05)
    assert made.survey.largest_host == "h000000.example"


def test_a_computed_stream_is_the_same_each_time_and_another_with_another_seed() -> None:
    first, second = (links(Synthetic(distinct=1000, seed=seed).batches(64)) for seed in (7, 7))
    assert first == second
    assert links(Synthetic(distinct=1000, seed=8).batches(64)) != first


def test_chunks_hold_about_as_many_links_as_asked_for_and_all_of_them() -> None:
    parts = [["a"] * 10 for _ in range(25)]
    found = list(chunks(iter(parts), 40))
    assert [len(each) for each in found] == [4, 4, 4, 4, 4, 4, 1]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd.compress])
async def test_a_file_of_urls_is_read_canonical_and_what_is_none_is_told_with_its_line(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "urls"
    path.write_bytes(compress(b"\xef\xbb\xbfHTTP://A.test\n\nnot a url\n\xff\nhttp://a.test/#x\nhttp://b.test/\r\n"))
    unreadable = Unreadable()
    made = await spool(
        "w", urls_of_file(str(path), canonical, unreadable), unreadable, path=tmp_path / "w", exact=ExactSet()
    )
    assert links(batches(made)) == ["http://a.test/", "http://a.test/", "http://b.test/"]
    assert links(new_batches(made)) == ["http://a.test/", "http://b.test/"]
    assert made.survey.unreadable == 2
    assert [each.partition(": ")[0] for each in made.survey.first_unreadable] == [f"{path}:3", f"{path}:4"]


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: data[:9] + b"odd" + data[12:]])
def test_a_file_that_is_torn_or_damaged_is_refused(
    compress: Callable[[bytes], bytes], damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "urls"
    path.write_bytes(damage(compress(b"".join(b"http://a.test/%d\n" % number**9 for number in range(5_000)))))
    with pytest.raises(WorkRefused, match=r"^can't read .*/urls: "):
        list(urls_of_file(str(path), canonical, Unreadable()))


async def test_pages_stay_together_unless_they_are_huge(tmp_path: Path) -> None:
    pages = [("p", ["http://a.test/1", "http://a.test/2"]), ("q", []), ("r", [f"http://a.test/{n}" for n in range(5)])]
    unreadable = Unreadable()
    found = urls_of_pages(pages, canonical, unreadable)
    made = await spool("w", found, unreadable, path=tmp_path / "w", exact=ExactSet(), batch=3)
    assert [len(each) for each in batches(made)] == [2, 3, 2]


async def test_standard_input_is_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"http://a.test/\n")))
    unreadable = Unreadable()
    found = urls_of_file(STDIN, canonical, unreadable)
    made = await spool("w", found, unreadable, path=tmp_path / "w", exact=ExactSet())
    assert isinstance(made.stream, Spooled)
    assert made.survey.links == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"", "found nothing"),
        (b"no url\n", "1 line that is no URL"),
        (b"\x1f\x8b\x08", "can't"),
    ],
)
async def test_a_file_without_urls_is_refused_with_what_was_found(
    content: bytes | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "urls"
    if content is not None:
        path.write_bytes(content)
    unreadable = Unreadable()
    with pytest.raises(WorkRefused, match=words):
        await spool(
            "w", urls_of_file(str(path), canonical, unreadable), unreadable, path=tmp_path / "w", exact=ExactSet()
        )
