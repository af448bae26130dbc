"""Copies of crawls: of a crawl, or of one part of it, as it was at one moment.

    folder     where what was frozen is, for one process at a time
    freezing   keeps a crawl as it is at one moment, by links and lengths, while it goes on
    content    what a copy holds: a list of files, and their contents by their digests
    writing    copies what was frozen
    restoring  makes a crawl of a copy

While a crawl runs, its own process freezes it: between two changes it links all files of the frontier and of the output
into the folder `copying`, and notes how long they are. Files of a crawl are only appended to, or replaced, so up to
these lengths they stay as they were; those of SQLite, which change, are copied there. Whoever writes the copy then
reads these links in peace, also if the crawl deletes the files meanwhile.

A frontier that was frozen after the output was measured would have pages that the output lacks. Both happen in one
step. The output may have more than the frontier: what was in flight. An opening fetches that again, as after a crash.

A copy holds each content once, in a file named by its digest, and a list that is replaced in one step at the end. So
there is always the last whole copy, and what an interrupted one has left is no part of it. Contents that the last copy
had stay: files that are finished are neither read nor written again.
"""
