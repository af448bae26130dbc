"""Every setting: its name, type, default, unit, limits and meaning. The rest of the package is derived from this room.

A section of the file is a struct, and its docstring says what the section is about. A setting is a field. Its type has
notes: its `meaning`, of a number its limits and its unit (`between`), and of a text what it must match (`matching`).
The `extra` of a `msgspec.Meta` may have

    form      what a text must look like, in words; it completes "text, …" or "a list of texts, each …"
    choices   the names that a text may be, where they are not known here, such as those of visited sets
    backends  the kind of backends that it names; such a text may also name a plug-in
    options_of  the setting that chooses the backend whose options a table holds

To add a choice, add a word to a `Literal`. A visited set is a choice as soon as `visited.backends` names it. To add a
setting, add a field. A field that is a tuple of structs is an array of tables: blocks, of which a file may have any
number. A block may have a field `overrides`, for settings of sections that have the note `PER_SITE`; see `Site`.
"""

import msgspec

from config.schema.compare import Compare
from config.schema.crawl import Crawl, Limits, Log, Output, Progress
from config.schema.daemon import Daemon
from config.schema.duplicates import Duplicates
from config.schema.exchange import Exchange
from config.schema.fetch import Fetch
from config.schema.frontier import Frontier, Visited
from config.schema.identity import Identity
from config.schema.politeness import Politeness
from config.schema.recrawl import Recrawl
from config.schema.render import Render
from config.schema.scope import Focus, Scope, Traps, Urls
from config.schema.site import Site


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a crawl."""

    crawl: Crawl = Crawl()
    scope: Scope = Scope()
    traps: Traps = Traps()
    focus: Focus = Focus()
    frontier: Frontier = Frontier()
    visited: Visited = Visited()
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    identity: Identity = Identity()
    render: Render = Render()
    urls: Urls = Urls()
    output: Output = Output()
    duplicates: Duplicates = Duplicates()
    recrawl: Recrawl = Recrawl()
    limits: Limits = Limits()
    log: Log = Log()
    progress: Progress = Progress()
    exchange: Exchange = Exchange()
    daemon: Daemon = Daemon()
    compare: Compare = Compare()
    site: tuple[Site, ...] = ()
