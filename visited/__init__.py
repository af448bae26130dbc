"""What the crawl has met before.

A visited set answers one question, *is this URL new?*, and remembers the URL in the same step. Asking first and adding
later would be a race between the pages that link to it. The unit is a batch, because a page brings its links together.

The sets differ in what they give for their memory. An exact set never errs. A filter may call a new URL known, at its
stated rate, and that page is lost. No set ever does the opposite and calls a URL new twice. Each set reports what it
costs and what it has probably lost (`VisitedStats`).

A set is an index, not the truth: the frontier's ledger lists every URL ever admitted, and any set can be rebuilt from
it. A snapshot (`dump`, `load`) only saves that time. It names the backend and its parameters and carries a checksum. If
either does not match it is refused (`SnapshotRefused`), so a set is never half-loaded. Some sets keep more on disk
beside the snapshot: the list of `dsbf`, the store of `exact_leveldb`. After a crash that may be ahead of the snapshot;
`load` takes it back, because a URL that is known here and in no ledger would be lost.

No module here knows what a host is or where URLs come from: a URL is a string in its canonical form. The package
imports nothing else of the project.

    digests      exact sets of MD5 digests, in memory or on disk: no false positives
    filters      filters of a fixed size: bloom, blocked, counting
    splitting    dsbf, a filter that grows by splitting its leaves
    baselines    the sets of the literature, to compare against
    wrappers     recent, verified, whitelist, sharded: each keeps the promise of what it wraps
    bits         the only door to the code that touches bits, in C or NumPy
    sizing, advice            the formulas, and which set to take for how many URLs
    snapshot, batch           what the sets share
    full_disk                 keeps in memory what a full disk can't take

A filter's false-positive rate is always computed from its fill, (ones/m)^k, never from its count. So it is right for a
wrong estimate, for repeats and for a bad hash. Local sets also have `has_many` (`LocalSet`), which asks without adding;
it is for inspection and comparison, not for the crawl.
"""

from visited.protocol import CannotForget, DiskFull, KernelRefused, LocalSet, SnapshotRefused, VisitedSet, VisitedStats

__all__ = ["CannotForget", "DiskFull", "KernelRefused", "LocalSet", "SnapshotRefused", "VisitedSet", "VisitedStats"]
