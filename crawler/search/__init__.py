"""Searches the pages of a crawl by their words, while it runs or later.

    words         what a person types, as an expression of FTS5; scripts that put no spaces between words
    letters       letters that are the same to people
    index         the index: one SQLite file with a full-text table
    transactions  changes of it by several processes
    archive       where the archive has pages, in the same file
    excerpts      pieces of texts around the words
    gathering     brings the index up to date with the records, and reads texts from the archive where these lack them
    searching     brings the index up to date, then asks it
    forms         what a search has found

The index can always be rebuilt from records and archive. So it is never copied or repaired: if it is damaged, or
another version made it, it is deleted. Each search first updates the index, in short transactions that note how far the
records were read. So an interruption loses at most one transaction, and several processes may update the index at once:
each goes on where the last transaction ended.
"""
