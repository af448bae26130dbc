"""Brings the frontier and the output of a crawl back into agreement.

    recover          takes into a new or damaged frontier what the output tells
    newer_output     at each start: fetches pages again that were written but not settled
    reconciliation   compares ledger and output, for `inspect fsck`
    verification     compares them record by record, and with the tables of sinks, for `inspect verify`
    rewriting        writes to the tables what they lack
    indexes          compares the indexes of archives with these
    setting_aside    moves damaged bytes out of the output
    facts            what they tell about each number, side by side
    bodies           what revisit records refer to
    machines         what other machines have, so that nobody calls it missing
    sources          where `recover` reads
    settled          which settled URLs it finds there
    output_links     which links it finds there
    archived         the visits of which archives tell

They share `entries`: URLs, as the frontier names them, and ledger entries from records and archived pages.

Only the rest of `wiring`, `operate` and the command line import this room.
"""
