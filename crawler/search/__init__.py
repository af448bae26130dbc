"""Searches the pages of a crawl by their words, while it runs or later.

    words       what a person types, as an expression of FTS5; scripts that put no spaces between words
    index       the index: one SQLite file with a full-text table
    excerpts    pieces of texts around the words
    gathering   brings the index up to date with the records, and reads texts from the archive where these lack them
    searching   brings the index up to date, then asks it
    forms       what a search has found

The index is made from records and archive, and can be made anew from them. So it is never copied nor repaired: what is
damaged, or was made by another version, is deleted. It is brought up to date by whoever searches, in short
transactions, each of which notes how far the records were read. So an interruption loses at most one of them, and
several processes may do this at once: each goes on where the last transaction ended, whoever made it.
"""
