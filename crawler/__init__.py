"""The crawl itself.

At the top: `engine` (the loop), `passage` (a URL's way through it), `page` (the values), `protocols` (what the loop
asks of its parts), `urls`, `scope`, `discovery` and `pace` (pure), and `wiring` and `cli`, the only modules that name
concrete parts. A sub-package for each room: `fetch` (HTTP, names, guard, robots), `render` (pages in a browser), `read`
(text and links), `write` (records and WARC), `compare` (visited sets, measured), `simweb` (the simulated web).

Life of a URL: found on a page, resolved, in scope, canonical, new to the visited set, in the ledger and its queue,
leased, allowed by robots.txt, fetched, decoded, extracted, written by the sinks; then its links are added, and only
then it is done. Whatever stops it on the way leaves a reason. `done` comes last, so a crash repeats at most the pages
in flight.

The rooms know `page`, `urls` and `hosts`, and not each other. What the world does (a dead server, a page of garbage)
is a value of a closed union; an exception that reaches the engine is a bug and ends the crawl.
"""
