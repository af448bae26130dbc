"""Finds the encoding of a body and decodes it.

    text         the encoding of a body, by the order of the standards, and its text
    declaration  the encoding that a document declares
    detection    guesses the encoding of a body that does not declare one
    words        the text of a body that tells its encoding, in C (`_words`) if it is compiled
    labels       names of encodings by their labels
    query        encodes the query of an href in the encoding of its page

A wrong declaration is believed, because browsers believe it too. Decoding never fails. The rest of `crawler.read` uses
this room, which knows nothing of it.
"""
