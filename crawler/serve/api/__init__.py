"""The API of the daemon: HTTP with JSON, for programs.

    forms      what requests and replies hold
    problems   errors, in the form of RFC 9457
    gate/      who may ask, how often, and what is remembered of it
    actions    what the requests do
    data/      what crawls know, changes of seeds and hosts, and exports
    measured   what crawls did over time, and metrics for Prometheus
    events/    what happens, as it happens
    route      a request, and what it does
    routes     all of them
    openapi    the document that describes all of it
    server     listens

It listens on a Unix socket, `DIR/daemon/api`, that only its owner may open; there no token is needed. With `--listen`
it also listens on a port of the loopback interface, or with a certificate of any. There each request needs a token, and
a Host header with a name of this machine, so that no web page can reach the API through a browser.
"""
