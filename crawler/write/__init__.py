"""The sinks: where pages and records go.

    records   what the crawl found out about each URL, as JSON Lines
    warc      what the servers sent, as WARC/1.1
    fanout    several sinks as one

Both formats only ever grow at the end, by whole records, through `appending`: a record is handed to the system in one
write, and taken away again if it did not fit. So a file can be torn in one place only, the end of the newest file, and
only by a crash. Opening a sink cuts such a tail off; the page it belonged to was not done and is written again, under
the same record number.

Durability `process`: once `write` returns, the record survives the end of the process, as by `kill -9`. Durability
`power`: it survives a power cut; pages that are written at the same time share one fsync.

The record number is in every line (`number`) and every WARC record of a page (`X-Onceover-Number`). Where two carry
the same number, the later one counts.
"""
