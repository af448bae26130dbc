"""What a frontier of others tells wrongly about a crawl that does not run is named, with the plug-in."""

from pathlib import Path

import pytest

from tests.unit.operate import stored_crawls
from tests.unit.operate.stored_crawls import StoredCrawl
from tests.unit.plugins.installing import Site

CODE = """
    from pathlib import Path

    import msgspec

    from frontier.states.leveldb import DESCRIPTOR

    WRONG = Path(__file__).parent / "wrong"

    def make(parameters, options):
        state = DESCRIPTOR.make(parameters, options)
        if WRONG.exists():
            name, answer = WRONG.read_text().split()
            members = {name: lambda self, *_, **__: eval(answer)}
            state.__class__ = type("Odd", (type(state),), members)
        return state

    ODD = msgspec.structs.replace(DESCRIPTOR, make=make)
"""


@pytest.fixture
def wrong(tmp_path: Path, site: Site) -> tuple[StoredCrawl, Path]:
    """A crawl, and a file that says which member of the state of its frontier has which wrong value."""
    site.add("odd-frontier", "odd_frontier", CODE, entries={"frontier.odd": "odd_frontier:ODD"})
    crawl = stored_crawls.make(tmp_path / "crawl")
    configuration = crawl.directory / "crawl.toml"
    text = configuration.read_text()
    assert text.count('backend = "leveldb"') == 1
    configuration.write_text(text.replace('backend = "leveldb"', 'backend = "odd"'))
    return crawl, site.folder / "wrong"


@pytest.mark.parametrize(
    ("command", "answer", "why"),
    [
        ("status DIR", "describe {}", "expected FrontierStats from describe, found dict"),
        ("inspect DIR fsck", "describe None", "expected FrontierStats from describe, found NoneType"),
        ("inspect DIR fsck", "all_known iter([1])", "expected KnownUrl from all_known, found int"),
        ("inspect DIR verify", "all_known iter([1])", "expected KnownUrl from all_known, found int"),
        ("inspect DIR url http://host-1.test/1", "known 1", "expected KnownUrl from known, found int"),
        ("inspect DIR queues", "queues iter([1])", "expected QueueStatus from queues, found int"),
        ("inspect DIR next host-1.test", "next_urls ['a']", "expected CrawlUrl from next_urls, found str"),
        ("frontier export DIR", "all_known iter([None])", "expected KnownUrl from all_known, found NoneType"),
        ("recrawl DIR --failed", "all_known None", "expected an iterator from all_known, found NoneType"),
        ("retire DIR host-1.test", "queue []", "expected QueueStatus from queue, found list"),
    ],
)
def test_a_wrong_answer_is_named(wrong: tuple[StoredCrawl, Path], command: str, answer: str, why: str) -> None:
    crawl, file = wrong
    file.write_text(answer)
    ended = crawl.run(*command.split())
    assert ended.code == 1, ended
    assert ended.err.startswith(f'onceover: the frontier "odd" of odd-frontier 1.0 failed: {why}'), ended
    assert ended.err.count("\n") == 1


def test_right_answers_are_passed_on(wrong: tuple[StoredCrawl, Path]) -> None:
    crawl, _ = wrong
    for command in ("status DIR", "inspect DIR fsck", "inspect DIR queues", "frontier export DIR"):
        assert crawl.run(*command.split()).code == 0


def test_the_set_of_a_plug_in_that_fails_when_crawls_that_share_it_are_listed_is_named(
    tmp_path: Path, site: Site
) -> None:
    code = """
        import msgspec

        from visited.backends import descriptor
        from visited.digests.exact import ExactSet

        class Odd(ExactSet):
            async def aclose(self):
                raise KeyError("odd")

        ODD = msgspec.structs.replace(descriptor("raw"), make=lambda *_: Odd())
    """
    site.add("odd-sets", "odd_sets", code, entries={"visited.odd": "odd_sets:ODD"})
    crawl = stored_crawls.make(tmp_path / "crawl")
    configuration = crawl.directory / "crawl.toml"
    text = configuration.read_text()
    assert text.count('\nbackend = "exact"\n') == 1
    configuration.write_text(text.replace('\nbackend = "exact"\n', '\nbackend = "odd"\n'))
    ended = crawl.run("sharing", "DIR")
    assert ended.code == 1, ended
    assert ended.err.startswith("onceover: the visited set \"odd\" of odd-sets 1.0 failed: KeyError: 'odd'"), ended
    assert ended.err.count("\n") == 1
