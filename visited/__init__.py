"""Which URLs the crawl has seen before.

A visited set answers one question, *is this URL new?*, and remembers the URL in the same step. If we asked first and
added later, the pages that link to it would race. The unit is a batch: all links of a page.

The sets differ in memory and accuracy. An exact set never errs. A filter may call a new URL known, at its stated rate,
and then this page is lost. No set calls a URL new twice. Each set reports what it costs and what it has probably lost
(`VisitedStats`).

A set is only an index: the frontier's ledger lists every URL ever admitted, and any set can be rebuilt from it. A
snapshot (`dump`, `load`) saves the time for this. It includes the backend, its parameters and a checksum. If one of
them does not match, the set refuses the snapshot (`SnapshotRefused`), so no set is ever loaded in part. Some sets keep
more on disk beside the snapshot: `dsbf` its list, `exact_leveldb` its store. After a crash these may be newer than the
snapshot. `load` rolls them back, because a URL that the set knows and the ledger lacks would be lost.

No module here knows what a host is or where URLs come from: a URL is a string in its canonical form. The package
imports nothing else of the project.

    digests      exact sets of MD5 digests, in memory or on disk, without false positives
    filters      filters of a fixed size: bloom, blocked, counting
    splitting    dsbf, a filter that grows by splitting its leaves
    baselines    the sets of the literature, for comparison
    redis        sets on a server, which several crawls may share
    wrappers     sets around other sets: recent, verified, whitelist, sharded
    bits         the code that reads and writes bits, in C or NumPy
    protocol, shared          what a set promises; what a set on a server promises in addition
    backends                  the names of all sets, and where their descriptors are
    descriptor, making        how a set describes itself, and how it is made from this
    plain                     local sets without an event loop, for other programs
    peers                     sets of other libraries, for comparison
    sizing, advice            the formulas, and the cost of each set for a number of URLs
    snapshot, batch, url_cache    what the sets share
    full_disk                 errors of a full disk

A filter's false-positive rate always follows from its fill, (ones/m)^k, never from its count. So it is right even if
the expected count was wrong, if URLs repeat, or if the hash is bad. Local sets also have `has_many` (`LocalSet`), which
asks without adding. It is for inspection and comparison, not for the crawl.
"""

from visited.protocol import (
    CannotForget,
    CannotList,
    DiskFull,
    Full,
    KernelRefused,
    ListingSet,
    LocalSet,
    PromptSet,
    RecallingSet,
    SnapshotRefused,
    Unavailable,
    Unsaved,
    VisitedSet,
    VisitedStats,
    WrongValue,
    clear_set,
    is_prompt,
    list_urls,
)
from visited.shared import (
    Crawl,
    Forgotten,
    Incomplete,
    Member,
    SharedSet,
    Sharer,
    Unanswered,
    Unreachable,
    Unwritable,
)

__all__ = [
    "CannotForget",
    "CannotList",
    "Crawl",
    "DiskFull",
    "Forgotten",
    "Full",
    "Incomplete",
    "KernelRefused",
    "ListingSet",
    "LocalSet",
    "Member",
    "PromptSet",
    "RecallingSet",
    "SharedSet",
    "Sharer",
    "SnapshotRefused",
    "Unanswered",
    "Unavailable",
    "Unreachable",
    "Unsaved",
    "Unwritable",
    "VisitedSet",
    "VisitedStats",
    "WrongValue",
    "clear_set",
    "is_prompt",
    "list_urls",
]
