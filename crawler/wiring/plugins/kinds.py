"""The kinds of backends, and where the descriptors of ours are."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, get_args

import msgspec

from crawler.fetch.descriptor import Descriptor as FetcherDescriptor
from crawler.read.descriptor import Descriptor as ExtractorDescriptor
from crawler.seams import Begins, Fetcher, IsTold, LinkExtractor, Sink, TakesExchanges
from crawler.url.canonical_rules import RULES
from crawler.url.components import UrlComponents
from crawler.url.descriptor import Descriptor as RuleDescriptor
from crawler.wiring.plugins.checks import Method, methods_of
from crawler.wiring.plugins.guarded_stores import guarded_set
from crawler.write.descriptor import Descriptor as SinkDescriptor
from crawler.write.descriptor import LeavesOut, Refers
from crawler.write.descriptor import Need as SinkNeed
from frontier import StoreFailed, StoreRefused
from frontier.backends import BACKENDS as FRONTIERS
from frontier.descriptor import Descriptor as FrontierDescriptor
from frontier.descriptor import Need as FrontierNeed
from frontier.state import FrontierState
from visited import DiskFull, LocalSet, Unavailable
from visited.backends import BACKENDS, PEERS, REMOTE
from visited.descriptor import CommonOptions, Need
from visited.descriptor import Descriptor as VisitedDescriptor


def _without_options(make: Callable[..., Any]) -> Callable[..., Any]:
    """A class or a function without options is called with the parameters alone."""
    return lambda parameters, _: make(parameters)


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """In entry points: `onceover.NAME`."""
    noun: str
    """The word for it in messages to people."""
    ours: Mapping[str, str]
    """The places of our descriptors by name."""
    descriptor: type[msgspec.Struct]
    methods: tuple[Method, ...]
    """What a component of this kind must have."""
    optional: tuple[Method, ...] = ()
    """What it may have beside them."""
    maker_of: Callable[[Callable[..., Any]], Callable[..., Any]] = _without_options
    """The maker for a descriptor, of a class or a function that has none."""
    raises: tuple[type[Exception], ...] = ()
    """What a maker may raise, in addition to errors of a full disk and of a lack of memory."""
    needs: frozenset[str] = frozenset()
    """What they may need."""
    guard: Callable[[Any, str], Any] = lambda component, _: component
    """A component of others, named by a title, that checks what it returns."""
    common: tuple[type[msgspec.Struct], ...] = ()
    """Options that all of them have."""

    @property
    def a_noun(self) -> str:
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    @property
    def group(self) -> str:
        return f"onceover.{self.name}"


class _Applied(Protocol):
    """A `Rule`."""

    def __call__(self, url: UrlComponents, /) -> UrlComponents: ...


VISITED: Final = Kind(
    name="visited",
    noun="visited set",
    ours={**BACKENDS, **REMOTE, **PEERS},
    descriptor=VisitedDescriptor,
    methods=methods_of(LocalSet),
    raises=(DiskFull, Unavailable),
    needs=frozenset(get_args(Need)),
    common=(CommonOptions,),
    guard=guarded_set,
)
FRONTIER: Final = Kind(
    name="frontier",
    noun="frontier",
    ours=FRONTIERS,
    descriptor=FrontierDescriptor,
    methods=methods_of(FrontierState),
    raises=(StoreFailed, StoreRefused),
    needs=frozenset(get_args(FrontierNeed)),
)
SINK: Final = Kind(
    name="sink",
    noun="sink",
    ours={
        "records": "crawler.write.records:DESCRIPTOR",
        "warc": "crawler.write.warc:DESCRIPTOR",
        "postgres": "crawler.write.database.postgres:DESCRIPTOR",
        "sqlite": "crawler.write.database.sqlite:DESCRIPTOR",
    },
    descriptor=SinkDescriptor,
    methods=methods_of(Sink),
    optional=(Begins.begin, TakesExchanges.write_exchange, IsTold.tell, Refers.forget_before, LeavesOut.tell_refusals),
    needs=frozenset(get_args(SinkNeed)),
)
EXTRACTOR: Final = Kind(
    name="extractor",
    noun="extractor",
    ours={name: f"crawler.read.html.{name}:DESCRIPTOR" for name in ("turbohtml", "lexbor", "lxml", "bs4")},
    descriptor=ExtractorDescriptor,
    methods=methods_of(LinkExtractor),
)
FETCHER: Final = Kind(
    name="fetcher",
    noun="fetcher",
    ours={"http": "crawler.fetch.descriptor:HTTP"},
    descriptor=FetcherDescriptor,
    methods=methods_of(Fetcher),
)
CANONICAL_RULE: Final = Kind(
    name="canonical_rule",
    noun="canonical rule",
    ours={name: f"crawler.url.canonical_rules:{rule.__name__}" for name, rule in RULES.items()},
    descriptor=RuleDescriptor,
    methods=methods_of(_Applied),
    maker_of=lambda rule: lambda _: rule,
)
KINDS: Final = {kind.name: kind for kind in (VISITED, FRONTIER, SINK, EXTRACTOR, FETCHER, CANONICAL_RULE)}
