"""One crawl in parts: several processes that share its work.

Each part is a whole crawl with a directory of its own: frontier, visited set and output. A queue belongs to one part,
by a hash of its registered domain. So pace, robots.txt and cookies are local, and the guarantees of a crawl hold in
each part.

A page's links to queues of other parts go into the part's *outbox*, in the write batch that admits its own links. A
*parcel* is one such batch for one receiver. It stays in the outbox until the receiver has admitted it and synced that
to its disk. A receiver admits a parcel and stores its position in one write batch. If a parcel arrives twice, its URLs
are known already. So nothing is lost and nothing is admitted twice, whatever dies.

Sequence numbers count parcels, and belong to an *incarnation*: a random number that a part draws at each opening. A
power failure may take back what a part has sent or confirmed; by the incarnation the other side notices.

These modules only decide. They use no clock, socket or disk; their callers carry out the decisions:

    ownership     which part a queue belongs to
    messages      what parts tell each other about links on their way
    sender        what to send to one receiver, and what to delete from the outbox
    receiver      what to admit, and what to confirm
    ending        whether the crawl is complete
    agreement     what all parts must agree on, also while it changes
    allowances    shares a limit of pages
    reservations  messages about addresses that several parts ask; `holder` is a part's side, `authority` the
                  supervisor's

The room `exchange` carries links between running parts, and `line` connects each part with its supervisor. `sharing`
has the services that carry out what `allowances` and `reservations` decide.
"""
