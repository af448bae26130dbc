"""The fingerprint of a page's text, by which near duplicates are found.

    decoded body -> text between the tags -> words -> shingles -> 64 bits, with the number of words

`simhash` states what counts as text and as a word, and makes the fingerprint, in C (`_simhash`) or in Python with the
same answers. `ranges` says which characters belong to words.
"""
