"""The way to a server: names, addresses, connections.

`network` opens connections, with aiohttp. `names` resolves hosts: static names first, then DNS (`dns`). `guard` says
which addresses may be connected to. It is asked three times: for an address written in a URL, for what a name resolves
to, and for each socket as it connects. The last would be enough; the first two say better what was refused. `routes`
knows proxies, logins and unverified certificates of some hosts, `socks` connects through SOCKS proxies. `connections`
corrects where a server would mislead aiohttp. `failures` is the one table that turns exceptions into the crawl's words.
`aiohttp_contract` checks at the start that aiohttp is as we rely on it. `response_heads` corrects heads that browsers
accept. `sockets` tells what arrives on idle connections.
"""
