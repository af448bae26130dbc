"""How the web is asked.

`http` asks a server for one URL and returns what came of it as a value: a page, a redirect, "not modified", or a
failure with its reason. It knows no other URL than the one it is given: redirects are returned, so that scope, robots,
politeness and the visited set see every hop.

`robots` asks for robots.txt through any fetcher, and is the one place where redirects are followed, since RFC 9309
wants it. What an answer means is decided by `standing`, what a file says by `rules`, and `shelf` keeps both.

`network` is the way to servers, with aiohttp. On it stand `names` (static names, then DNS) and `guard` (may this
address be connected to?). The guard is asked three times, since each way around the others has been used against
crawlers: for an address that is written in the URL, for the addresses that a name resolves to, and for the address of
each socket as it is made. The last would be enough; the first two say better what was refused.

What a server sends is bounded on every side: headers by count and size, the body as received and as decoded, what is
neither by its share, the head and the whole by time, the body by its speed, and all bodies together by `memory`;
`bodies` reads them. What is over the limit is cut and marked, as WARC does: `length`, `time`, `disconnect`; `encoding`
where a body could be decoded in part. A body of which nothing came before the connection broke is a failure.

`routes` knows what is different for some hosts: certificates, proxies, logins; `terms` what is for a site: limits,
headers; `headers` writes what is sent; `cookies` and `hsts` remember what servers want to hear again. `connections`
stands where the client's library would be misled by a server, and mends it; `socks` leads its connections through SOCKS
proxies. `dns` asks name servers.

`failures` holds the one table that turns the client's exceptions into the crawl's words, `coding` undoes
Content-Encoding within limits, `flights` lets one of many askers do the work. No module here knows configuration,
queues or pages' contents.
"""
