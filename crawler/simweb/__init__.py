"""A simulated web: any number of virtual hosts on one loopback port. Each page is computed from a hash of its address.

`params` describes a web; `geography` says what exists in it, under the paths of `paths`. `hypertext` writes its pages,
with `text`, by the facts of `page_facts`, and `changes` says when they change. `world` answers requests, and `expected`
states what a complete crawl must find. All of these are pure. `server` puts a world behind a socket, with HTTP by
`wire` and a `log`, and `process` runs a server in a process of its own.

Nothing is stored, so a web of a million hosts costs no more than one of ten, and a page is the same in every run. Two
trees connect the web, one of the pages within a host and one of the hosts. Their inner nodes never fail. So we know
without crawling what a crawl must find: everything, from the one seed.
"""
