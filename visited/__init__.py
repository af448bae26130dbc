"""What the crawl has met before.

A visited set answers one question, *is this URL new?*, and remembers the URL in the same step: asking first and
adding later would be a race between the pages that link to it. The batch is the unit, because a page brings its
links together.

The sets differ in what they give for their memory. An exact set never errs. A filter may take a new URL for a known
one at its stated rate, and what it swallows so is a page lost; no set ever does the opposite, and hands out a URL
twice as new. Each tells what it costs and what it has probably lost (`VisitedStats`).

A set is an index, not a truth: the frontier's ledger lists every URL ever admitted, and any set can be rebuilt from
it. A snapshot (`dump`, `load`) only saves that time. It names the backend and its parameters, carries a checksum,
and is refused (`SnapshotRefused`) when either does not match, so that a set is never half-loaded. What a set keeps on
disk beside it (the list of `dsbf`, the store of `exact_leveldb`) may have gone on after the snapshot, as after a
crash; `load` takes it back to the snapshot, for a URL that is known here and in no ledger would be lost.

Nothing here knows what a host is or where URLs come from: a URL is a string in its canonical form. This package imports
nothing else of the project.

    exact, exact_leveldb     MD5 digests in memory or on disk (digeststore): no false positives
    bloom, blocked           for a known count: least memory; one cache line for each URL
    counting                 a filter that can forget
    dsbf                     a filter that grows: leaves, leaflist, leafimages, leafplan, regrowth are its parts
    persite, rawurls, fingerprints, sixseeds, saltedmd5
                             what the literature has, to compare against
    recent, verified, whitelist, sharded
                             wrappers, which keep the promise of what they wrap
    sizing, advice           the formulas, and what to take for how many URLs
    kernel                   the only door to the code that touches bits: `_kernel` in C, `numpy_*` where it is missing
    memory                   memory that goes back to the system, so that what a set tells is what a process takes
    snapshot, tally, batch, filling
                             what the sets share
    fulldisk                 a disk without room, which sets wait out in memory

A filter's false-positive rate is always taken from its fill, (ones/m)^k, never from the count: so it is right for a
wrong estimate, for repeats and for a bad hash. `has_many`, which local sets have beside the promise (`LocalSet`),
asks without adding; it is for inspection and comparison, not for the crawl.
"""

from visited.protocol import CannotForget, KernelRefused, LocalSet, NoRoom, SnapshotRefused, VisitedSet, VisitedStats

__all__ = ["CannotForget", "KernelRefused", "LocalSet", "NoRoom", "SnapshotRefused", "VisitedSet", "VisitedStats"]
