"""The way to a server: names, addresses, connections.

`network` opens connections, with aiohttp. `names` resolves hosts: static names first, then what `lookup` finds. `guard`
says to which addresses we may connect. It is asked three times: for an address in a URL, for the addresses of a name,
and for each socket before it connects. The last test would be enough; the first two give better messages. `routes`
knows the proxies, logins and unverified certificates of some hosts. `connector` takes idle connections, or opens new
ones, also through SOCKS proxies, and keeps those that are given back.
`connections` counts connections, and `keeping` ranks the idle ones by their use. `tls` speaks TLS, and resumes its
sessions. `handler` is one connection, and corrects aiohttp where a server would mislead it;
`requests` are sent over it, and `responses` come back. `response_heads` reads plain heads, in C (`_heads`) if it is
compiled, and corrects others that browsers accept, for aiohttp's parser; `bodies` are what follows a head. `sockets`
sees what arrives on idle connections. `failures` is the one table that translates exceptions into the crawl's words.
`aiohttp_contract` checks at the start that aiohttp is as we rely on it.
"""
