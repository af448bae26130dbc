"""Divides the stored URLs of a crawl anew among its parts, while no crawl runs.

The stores of the crawl as it is are the *sources*, those of the crawl as it is to be the *targets*. Nothing is taken
out of a source. First each source gets a mark, so that no crawl changes it meanwhile. Then all sources are read side by
side, in the order of their keys, and each record is written to the target that it belongs to. A target has such a mark
too until it is complete. At the end, links that were on their way to other parts are admitted where they belong, and
everything is checked. Only then the caller makes the targets the parts of the crawl, in one step of its own.

A record keeps its bytes: a URL keeps its number, its order and its place in the ledger. Only the positions of queues
are new, because two sources may use the same ones. The visited sets are not copied; they are rebuilt from the ledgers
when the targets are opened. Journals, positions of other parts and numbers of batches end with their stores.

Each write batch of a target says up to where the sources have been read. So after a crash the same call goes on from
there.

    sources    what is read of the sources as a whole, and what they may contain
    placing    where each record belongs
    filling    writes batches to the targets, and remembers how far it came
    links      admits the links that were on their way
    regroup    the whole, step by step; opens sources and targets
"""
