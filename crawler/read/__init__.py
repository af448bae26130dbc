"""Reads pages: their text, links and metadata.

    body -> `sniff`: media type -> `encoding` -> an extractor: links and metadata -> Extract

    html        the four extractors: lexbor, turbohtml, lxml, bs4; and the scan, which reads most pages without a tree
    elements    the meaning of elements and attributes, shared by all four; protection against hostile pages
    feeds       sitemaps, RSS, Atom, JSON Feed
    similarity  the fingerprint of a page's text, by which near duplicates are found
    encoding    finds the encoding of a body and decodes it
    content     the main text of pages, beside what an extractor reads, on request

`pages` combines these, in the same way for each extractor; `listings` reads what is not HTML; `abstract` makes the
abstract, and `page_text` gives a page's text to programs. `headers` reads the HTTP headers, `bases` the <base>. `css`
and `pdf` read links of style sheets and PDF documents. `options` says what is read only on request, and `descriptor`
what the rest of the program knows of an extractor.

No module here fetches, judges scope, or raises for what a page contains. Documents may be hostile: each step takes time
and memory in proportion to the size of the document, whatever is in it.
"""
