"""Documents made for machines: sitemaps, RSS, Atom and JSON feeds.

`feeds` reads XML documents and finds out which kind each is; `sitemaps` knows what elements of a sitemap mean,
`json_feed` reads JSON Feed. `xml_prolog` finds the root, `xml_fixups` corrects XML that is not well-formed,
`xml_elements` looks at elements without their name spaces, `xml_base` resolves `xml:base`. `unpack` decompresses
sitemaps piece by piece.
"""
