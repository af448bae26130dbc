"""Fetches URLs over HTTP.

`http` asks a server for one URL and returns a value: a page, a redirect, "not modified", or a failure with its reason.
It does not follow redirects, so that scope, robots, politeness and the visited set see every hop.

    connect     the way to a server: names, addresses, connections, proxies, and the guard of private addresses
    robots      fetches, caches and obeys robots.txt
    signing     signs requests

All data of a server is limited: headers by count and size, bodies by size as received and as decoded, both by time and
speed, and all bodies together by `body_budget`. `response_reader` reads bodies; `coding` decodes Content-Encoding;
`document_end` looks for the end of a document if the server leaves open whether the body is complete. A body over a
limit is cut and marked, as in WARC: `length`, `time`, `disconnect`; `partial` if the server sent only a part, and
`encoding` if it could be decoded only in part.

`request_limits` holds the settings that may differ between sites. `headers` makes the headers of a request. `cookies`
and `hsts` remember what servers want to receive again; `set_cookie` reads cookies. `octets` escapes what is not UTF-8.
`singleflight` merges equal requests at the same time. `descriptor` is what the rest of the program knows of a fetcher.
No module here knows the configuration or queues, and only `document_end` looks into pages.
"""
