"""A simulated web: any number of virtual hosts on one loopback port, every page computed from a hash of its address.

`params` says what a web is like; `geography` what exists in it and where, under the paths of `paths`; `text` and
`hypertext` write its pages; `world` answers requests, and `expected` states what a complete crawl must find: all of
these are pure. `server` puts a world behind a socket, in the bytes of `wire` and with a `log`, and `process` puts a
server into a process of its own.

Nothing is stored, so a web of a million hosts costs no more than one of ten, and a page is the same in every run. The
web is connected by trees (pages within a host, hosts within the web) whose inner nodes never fail, so that what must be
found is known without crawling: everything from the one seed.
"""
