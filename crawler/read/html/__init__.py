"""The four HTML extractors.

`turbohtml`, `lexbor`, `lxml` and `bs4` only parse and walk: each passes the elements of interest, in document order, to
`elements.element_reader`, which knows what they mean. So the four agree wherever their trees do. `scan` reads most
pages for lexbor without building a tree, in C (`_scan`). Where the standard would move or ignore what it reads, it
gives up and lexbor parses (`lexbor_trees`).
"""
