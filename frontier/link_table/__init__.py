"""Counts links to URLs in memory, by the digests of their canonical forms.

The digest is the MurmurHash3 x64 128. Two of n URLs have the same one, and then share their count, with a probability
of n²/2^129. The store uses these digests as keys, so the table needs no text.

All other code calls `table`, which chooses between two implementations: `_link_table` in C, with slots of 24 bytes and
one call for the links of a page; and one in Python, which does the same where the C could not be compiled.
"""
