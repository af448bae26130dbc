"""How the web is asked.

`http` asks a server for one URL. What comes of it is a value: a page, a redirect, "not modified", or a failure with its
reason. It knows no other URL than the one it is given: redirects are returned, so that scope, robots, politeness and
the visited set see every hop.

    connect     the way to a server: names, addresses, connections, proxies, and the guard of private addresses
    robots      robots.txt: asked for, kept, and obeyed

Everything a server sends is bounded: headers by count and size, bodies by size as received and as decoded, both by time
and speed, and all bodies together by `body_budget`. `bodies` reads them; `coding` undoes Content-Encoding;
`document_end` looks for the end of a document where the server leaves open whether it is whole. What is over a limit is
cut and marked, as WARC does: `length`, `time`, `disconnect`; `encoding` where a body could be decoded only in part.

`request_limits` holds what may differ between sites. `headers` writes what is sent. `cookies` and `hsts` remember what
servers want to hear again. `singleflight` lets one of many askers do the work. No module here knows configuration or
queues, and only `document_end` looks into pages.
"""
