"""What a page says: its text, its links, and what it tells about itself.

    body -> `sniff`: what is it? -> `text`: in which encoding? -> an extractor -> links and metadata -> Extract

    html        the three extractors: lexbor, lxml, bs4; and the scan, which reads most pages without building a tree
    elements    what elements and attributes mean, the same for all three; and what makes hostile pages harmless
    feeds       sitemaps, RSS, Atom, JSON Feed

`pages` ties these together, the same way for each extractor. `headers` and `media` read what HTTP says of the page,
`declared_encoding` and `labels` what the document says of its encoding. `css` and `pdf` read links of style sheets and
PDF documents. `options` says what is read only on request.

No module here fetches, judges scope, or raises for what a page contains. A document may be hostile: each step takes
time and memory in proportion to its size, whatever is in it.
"""
