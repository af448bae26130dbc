"""Sinks of other packages are opened in their order, and closed when one of them can't be opened."""

from pathlib import Path

import pytest

from config import ConfigError
from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry
from crawler.seams import NoOptions
from crawler.wiring.components.processing import check_servers_of_sinks, open_sinks
from crawler.wiring.configuration import load
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.kinds import SINK
from crawler.write.descriptor import Parameters
from tests.unit.plugins.installing import Site

SINKS = """
    from pathlib import Path


    class Open:
        def __init__(self, parameters):
            pass

        async def write(self, page, record):
            pass

        async def aclose(self):
            with Path("closed").open("a") as file:
                file.write(f"{type(self).__name__} ")


    class Other(Open):
        pass


    class Refusing(Open):
        def __init__(self, parameters):
            raise OSError("the shelf is locked")
"""


PLAIN = """
    class PlainWrite:
        def __init__(self, parameters):
            pass

        def write(self, page, record):
            pass

        async def aclose(self):
            pass


    class PlainBegin:
        def __init__(self, parameters):
            pass

        def begin(self):
            pass

        async def write(self, page, record):
            pass

        async def aclose(self):
            pass


    class AwaitedTell(PlainWrite):
        async def write(self, page, record):
            pass

        async def tell_refusals(self, tell):
            pass


    class Exiting:
        def __init__(self, parameters):
            raise SystemExit(0)


    class Refused(PlainWrite):
        async def begin(self):
            raise ValueError("the password is wrong")

        async def write(self, page, record):
            pass
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "PlainWrite",
            "expected `async def write(self, page, record, /)` in PlainWrite, found `def write(self, page, record)`",
        ),
        ("PlainBegin", "expected `async def begin(self)` in PlainBegin, found `def begin(self)`"),
        (
            "AwaitedTell",
            "expected `def tell_refusals(self, tell, /)` in AwaitedTell, found `async def tell_refusals(self, tell)`",
        ),
        ("Exiting", "SystemExit: 0"),
    ],
)
async def test_a_sink_that_can_not_be_awaited_or_calls_exit_is_refused(
    name: str, why: str, site: Site, tmp_path: Path
) -> None:
    site.add("plain-sinks", "plain", PLAIN)
    settings = ['crawl.seeds=["http://a.test/"]', f'output.sinks=["plain:{name}"]']
    full_disk = FullDiskRetry(pause=lambda _: None, resume=lambda: None)
    with pytest.raises(ConfigError) as refused:
        await open_sinks(load(None, overrides=settings), CrawlDirectory(tmp_path / "crawl"), full_disk)
    assert str(refused.value).endswith(f'the sink "plain:{name}" of plain-sinks 1.0 can\'t be made: {why}')


async def test_a_sink_that_can_not_begin_is_named(site: Site, tmp_path: Path) -> None:
    site.add("plain-sinks", "plain", PLAIN)
    settings = ['crawl.seeds=["http://a.test/"]', 'output.sinks=["plain:Refused"]']
    full_disk = FullDiskRetry(pause=lambda _: None, resume=lambda: None)
    with pytest.raises(ConfigError) as refused:
        await open_sinks(load(None, overrides=settings), CrawlDirectory(tmp_path / "crawl"), full_disk)
    expected = 'the sink "plain:Refused" of plain-sinks 1.0 can\'t begin: the password is wrong'
    assert str(refused.value) == f"--set: output.sinks: {expected}"


NEEDY = """
    import msgspec

    from crawler.url.descriptor import Descriptor as RuleDescriptor
    from crawler.write.descriptor import Descriptor


    class Options(msgspec.Struct, frozen=True, kw_only=True):
        url: str
        name: str
        batch: int = 100


    SINK = Descriptor(name="needy", make=print, options=Options)
    RULE = RuleDescriptor(name="needy", make=print, options=Options)
"""


@pytest.mark.parametrize(
    ("setting", "name", "block"), [("output.sinks", "SINK", "output.sink"), ("urls.rules", "RULE", "urls.rule")]
)
def test_a_plug_in_that_needs_options_is_refused_where_it_can_have_none(
    setting: str, name: str, block: str, site: Site
) -> None:
    site.add("needy", "needy", NEEDY)
    with pytest.raises(ConfigError) as refused:
        load(None, overrides=['crawl.seeds=["http://a.test/"]', f'{setting}=["needy:{name}"]'])
    why = "needs options.url, options.name, and a plug-in in this list has no options; give it a block"
    assert str(refused.value) == f"--set: {setting}: needy:{name} {why} [[{block}]]"


def test_a_set_that_needs_options_is_no_candidate(site: Site) -> None:
    code = NEEDY.replace("crawler.write", "visited")
    site.add("needy-sets", "needy_sets", code)
    with pytest.raises(ConfigError, match=r"needs options\.url, options\.name, .* has no options; name another"):
        load(None, overrides=['crawl.seeds=["http://a.test/"]', 'visited.candidates=["needy_sets:SINK"]'])


READING = """
    from crawler.write.descriptor import Descriptor, Written


    def make(parameters, options):
        raise NotImplementedError


    def nothing(parameters, options):
        return None


    async def single(parameters, options):
        yield Written(number=1, url="http://a.test/", state="done", status=200, digest=None)


    async def pairs(parameters, options):
        yield [(1, "http://a.test/")]


    async def words(parameters, options):
        yield [Written(number="one", url="http://a.test/", state="done", status=200, digest=None)]


    async def check(parameters, options):
        raise RuntimeError("no such server")


    NOTHING = Descriptor(name="nothing", make=make, read=nothing)
    SINGLE = Descriptor(name="single", make=make, read=single)
    PAIRS = Descriptor(name="pairs", make=make, read=pairs)
    WORDS = Descriptor(name="words", make=make, read=words, check=check)
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("NOTHING", "expected an asynchronous iterator from read, found NoneType"),
        ("SINGLE", "expected batches of Written from read, found Written"),
        ("PAIRS", "expected Written from read, found tuple"),
        ("WORDS", "wrong Written from read: Expected `int`, got `str` - at `$.number`"),
    ],
)
async def test_what_a_sink_reads_back_wrongly_is_told(name: str, why: str, site: Site) -> None:
    site.add("reading-sinks", "reading", READING, entries={"sink.reading": f"reading:{name}"})
    found = descriptor(SINK, "reading")
    with pytest.raises(PluginFailed) as failed:
        async for _ in found.read(Parameters(), NoOptions()):
            pass
    assert str(failed.value) == f'the sink "reading" of reading-sinks 1.0 failed: {why}'


async def test_a_sink_whose_server_can_not_be_checked_is_named(site: Site, tmp_path: Path) -> None:
    site.add("reading-sinks", "reading", READING, entries={"sink.reading": "reading:WORDS"})
    loaded = load(None, overrides=['crawl.seeds=["http://a.test/"]', 'output.sinks=["reading"]'])
    with pytest.raises(ConfigError) as refused:
        await check_servers_of_sinks(loaded, CrawlDirectory(tmp_path))
    why = "can't be checked: RuntimeError: no such server"
    assert str(refused.value) == f'--set: output.sinks: the sink "reading" of reading-sinks 1.0 {why}'


async def test_sinks_that_are_open_are_closed_when_another_can_not_be_opened(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("shelf-sinks", "shelf", SINKS)
    monkeypatch.chdir(tmp_path)
    settings = ['crawl.seeds=["http://a.test/"]', 'output.sinks=["shelf:Open", "shelf:Other", "shelf:Refusing"]']
    full_disk = FullDiskRetry(pause=lambda _: None, resume=lambda: None)
    with pytest.raises(Exception, match="the shelf is locked"):
        await open_sinks(load(None, overrides=settings), CrawlDirectory(tmp_path / "crawl"), full_disk)
    assert Path("closed").read_text() == "Other Open "
