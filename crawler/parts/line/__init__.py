"""The line between a part and the supervisor of its crawl.

The supervisor starts each part as a process, and hands it one end of a pair of sockets. That is the *line*. Both sides
send messages over it, whole and in order. At its end the other side is gone: a part then finishes what is in flight and
exits; a supervisor starts the part again, unless the crawl has ended.

    messages   what is said about the part itself: begin, ask, end, stop; opened, progress, answered, ended, failed
    services   what a service promises on each side, and which messages belong to which
    line       sends and receives

A *service* is something that part and supervisor do together, and that this room knows nothing about: page allowances,
reservations of addresses. It is two objects with the same `name`:

- `PartService` in each part. Wiring makes it where it knows what the service needs (the state, the engine), and lists
  it in `OpenedCrawl.leasing`. The process of the part connects it to the line once the crawl is open.
- `SupervisorService` in the supervisor. Wiring makes it from the configuration
  (`crawler.wiring.components.part_limits`). It can end the crawl by the `stop` that it is given.

Each side is given a `send` when it is connected, and gets each message of the other by `receive`, decoded as the type
that it names as `messages`: a tagged union of msgspec structs, or one struct. `connect` and `disconnect` come in pairs,
on the supervisor's side for each process of each part. A message may be lost with the line; a new process of the part
begins anew. All calls come in the event loop, and must not wait.
"""
