"""The socket of a running crawl, by which commands and programs control it.

Each running crawl listens on a Unix socket in its directory, `DIR/control`. Only its owner may open it (mode 600). The
crawl binds the socket while it holds the directory's lock, so an existing socket belongs to a process that has died,
and is removed.

A client sends requests, one at a time; the crawl answers each. Requests and replies are lines of JSON:

    {"version": 1, "request": {"type": "pause", "reason": "the site moves"}}
    {"version": 1, "reply": {"paused": "the site moves", "in_flight": 3}}
    {"version": 1, "error": {"message": "… is already paused", "exit_code": 2}}

If a request takes long, the crawl sends `{"version": 1, "working": true}` every two seconds. So if a client gets
nothing, the process hangs or is stopped. A reader ignores fields that it does not know; the version only changes when
an old client would misunderstand.

    requests, replies     the values; `known_urls` has those about one URL, `selections` those about all URLs to which
                          something applies, `frozen` those about crawls that are copied
    wire                  values to lines and back
    address               binds, finds and checks the socket
    server                answers requests in the crawl's event loop
    client, asking        ask: the client blocks, `asking` is for event loops
    daemon_client         asks a daemon, which asks the crawl
    process               why a process does not answer

The server bounds everything that a client can cause: the size of a request, the number of clients, and how long a
client may read or stay silent. It knows nothing of crawls: it passes each request to a function. The room `operate` has
that function, and commands call it directly for a crawl that does not run.
"""
