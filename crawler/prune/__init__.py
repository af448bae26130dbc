"""Deletes old output of a crawl, as far as `output.keep_s` and `output.keep_bytes` say.

    finished    the files of records and archives that are complete
    choosing    which of them are too old, or too much; pure
    cycles      when a new cycle begins, so that older archives are no longer needed; pure
    needs       which archives must stay because later ones refer to their bodies
    following   follows the references between archives
    pruning     deletes: lists a file with its record numbers first, and then deletes it
    keeping     prunes while a crawl runs
    recorded    since when the records have each page

Files are deleted as a whole, the oldest first, an archive together with its index. The newest file of records stays,
and so do open files. `crawler.disk.pruned` has the list.

A revisit record has no body, but refers to an earlier record that has it. An archive to which a kept one refers stays.
So that it can be deleted in the end, the crawl begins a new cycle from time to time (`cycles`): no record refers to
earlier cycles.
"""
