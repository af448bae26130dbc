"""Parts of one crawl on many machines: who may run which part, and until when.

State and output of a part are in its directory, on the disk of one machine. Redis has the *register* of the crawl:
which parts there are, and for each of them a *lease*. A machine runs a part only while it holds its lease. Nothing
durable is in Redis alone: when the register is lost, machines write it again from their directories.

A *claim* asks for the lease of a part. It is a random number; a lease belongs to a claim, and expires `lease_s` after
it was last renewed. An *epoch* counts the claims of a part. The directory of a part stores the epoch in which it was
last opened, and the register the highest in which any directory was. So a copy of a directory that is older than the
part itself can't be opened by mistake.

From claim to opening:

1. The register grants the claim: nobody else holds the part, and the directory's epoch is no older than the register's.
   It gives the next epoch. Until the claim stands, one of a directory with a higher epoch replaces it.
2. The claim waits for one lease and a margin, renewed all along. So any earlier holder has ended by its own clock, also
   one that Redis has forgotten.
3. The epoch is stored in the directory, and synced.
4. The register confirms that the claim still holds the lease; from then on it *stands*, and no older directory is
   granted a claim.
5. The part is opened.

Time is CLOCK_BOOTTIME, which goes on while a machine sleeps and is never set. A lease ends for its holder `lease_s`
after the last renewal was *sent*. The process of the part looks at that clock right before it writes a request, and
before each write to frontier and sinks (`guard`). Past the end it exits at once. So neither the clock of Redis nor
what Redis forgets can let two processes store the same part: the clocks of two machines only have to run equally fast,
within the margin.

A part is *made*, with an empty directory, only while the register is certain that it was never made: it is whole, and
the server is still the process in which it was created, as any other may have forgotten the last seconds. Otherwise an
operator decides (`adopt`).

    values        what the register says
    register      the register in Redis
    scripts       what it does in one step, in Lua
    asking        reads values of one type, and says which key has another
    decoding      makes values of what Redis answers
    leases        what a holder knows of its leases, what it has to do, and what it says has changed; pure
    keeper        claims, renews and gives up leases
    boottime      the clock of leases
    guard         ends the process of a part when its lease has ended
    shared_lease  how that process knows when it ends
    machine       what one machine has of the crawl: the layout, and directories of parts
    notes         what the directory of a part says about its last claim
"""
