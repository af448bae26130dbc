"""Reads PDF documents with pypdf: links, metadata and text. An extra, because few crawls want it and it is slow.

    document    what is read of a document
    worker      the process that reads documents, one after another
    processes   starts such processes, and ends those that take too long
    frames      what both say to each other
    once        reads links and text of a document at once

pypdf is made of Python alone and knows a complex format, so a document may keep it busy for hours, or let it take all
memory. Therefore it works in a process of its own, with limits: a document that exceeds them costs its own links and
text, and nothing else. `processes` does not need pypdf.
"""
