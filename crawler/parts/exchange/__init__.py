"""Carries links between the parts of a crawl that runs.

An *exchange* makes connections between parts. On a connection, one part sends parcels and the other confirms them. It
delivers messages whole and in order, or breaks; then the sender connects again, and sends again what was not confirmed.
It stores nothing: what is on its way is in the outbox of its sender. Nor does it buffer much: when a receiver is slow,
its senders wait, and their outboxes grow on their disks.

    protocol   what an exchange promises
    local      the exchange between the processes of one machine: Unix sockets
    redis      the exchange through a server of Redis, which the room `crawler.redis` reaches. `redis_connection` is one
               end of a connection, for which `way` decides; `redis_streams` has what is stored there, and the commands
    wire       messages as bytes
    carrier    moves parcels from the outbox of a part to the others, and admits theirs
    sending, receiving   the two ends of a connection, as the carrier uses them
"""
