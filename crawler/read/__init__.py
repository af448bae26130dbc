"""What a page says: its text, its links, and what it tells about itself.

    body -> `sniff`: what is it? -> `text`: in which encoding? -> a parser -> `document`: links and metadata -> Extract

Between text and parser stands `hostile`, which knows what a parser must not see as it is; `flat` makes it harmless. And
most pages need no parser: `scan` reads them tag by tag, as long as it is sure to say what lexbor's tree would.

A parser adapter (`lexbor`, `lxml`, `bs4`) only parses and walks: it hands each element of interest, in document order,
to a `document.Reading`, which knows what elements and attributes mean. So the three agree wherever their trees do.
`headers` reads what HTTP says of the page, and `pages` ties these together, the same way for each parser. What the
document says of its encoding is found by `declared`, before there is a tree.

Nothing here fetches, resolves against a scope, or raises for what a page contains. A document may be hostile: each step
takes time and memory in proportion to its size, whatever is in it.
"""
