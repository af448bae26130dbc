"""Copies of crawls: of a crawl, or of one part of it, as it was at one moment.

    folder     where what was frozen is, for one process at a time
    freezing   keeps a crawl as it is at one moment, by links and lengths, while it goes on
    content    what a copy holds: a list of files, and their contents by their digests
    writing    copies what was frozen
    restoring  makes a crawl of a copy

While a crawl runs, its own process freezes it: between two changes it links all files of the frontier and of the output
into the folder `copying`, and notes how long they are. A crawl only appends to its files, or replaces them, so up to
these lengths they do not change; it copies those of SQLite, which do. The process that writes the copy then reads these
links, even if the crawl deletes the files.

If the frontier were frozen later than the output, it would have pages that the output lacks, so both happen in one
step. The output may have pages that the frontier lacks: those in flight. The next opening fetches them again, as after
a crash.

A copy holds each content once, in a file named by its digest, and a list that is replaced in one step at the end. So
there is always a last complete copy, and files of an interrupted one are no part of it. Contents of the last copy stay:
finished files are neither read nor written again.
"""
