"""Reads elements and attributes, whichever parser found them.

`element_reader` collects links and metadata from elements; `readers_by_tag` says which of its methods reads which
element, `link_tables` which attributes are links; `foreign` reads those that any element of SVG or MathML may have.
`attributes` reads srcset, refresh and robots. `speculative` finds probable URLs in scripts. `hostile` recognises pages
that would keep a parser busy for minutes, by the counts of `markup` (in C: `_markup`); `flatten` makes them harmless.
`xhtml` rewrites XHTML and SVG for HTML parsers.
"""
