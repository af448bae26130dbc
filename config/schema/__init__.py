"""Every setting: its name, type, default, unit, limits and meaning. All else in this package is derived from here.

A section of the file is a struct, and its docstring says what the section is about. A setting is a field whose
`msgspec.Meta` carries the limits and, as `description`, the meaning. In `extra` stand

    unit      "seconds" and "bytes" also admit text with a unit ("5 min", "20 MB"); any other word is only shown
    form      what a text must look like, in words; it completes "text, …" or "a list of texts, each …"
    coming    choices that later versions will have: refused with a message of their own
    later     what to say beside a refusal, where a wider range comes with a later version

A new choice is one more word in a `Literal`; a new setting is one more field. A field that is a tuple of structs is an
array of tables: blocks, of which a file may hold any number. One of its fields may be `overrides`, a table whose
`extra` lists under `overrides` the keys of settings that a block may set anew; see `Site`.
"""

import msgspec

from config.schema.compare import Compare
from config.schema.crawl import Crawl, Limits, Output, Progress
from config.schema.fetch import Fetch
from config.schema.frontier import Frontier, Visited
from config.schema.politeness import Politeness
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
    render: Render = Render()
    urls: Urls = Urls()
    output: Output = Output()
    limits: Limits = Limits()
    progress: Progress = Progress()
    compare: Compare = Compare()
    site: tuple[Site, ...] = ()
