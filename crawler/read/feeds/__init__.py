"""Reads sitemaps, RSS, Atom and JSON feeds.

`feeds` reads XML documents: `plain_entries` reads what most sitemaps consist of without a parser, `xml_reader` all else
with lxml, which is loaded for it, and recognises the kind of each document. `entries` holds what both find. `elements`
knows the elements of a sitemap, and those of RSS and Atom; `sitemaps` reads lists of URLs, `json_feed` JSON Feed.
`xml_prolog` finds the root, `xml_fixups` repairs XML that is not well-formed, `xml_base` resolves `xml:base`. `unpack`
decompresses sitemaps piece by piece.
"""
