"""The sinks, which store pages and records.

    records        what the crawl found out about each URL, as JSON Lines; `record_tails` repairs their ends
    warc           what the servers sent, as WARC/1.1. `warc_records`, `warc_facts`, `warc_http`, `warc_info` and
                   `warc_members` make the records, the latter in C (`_warc_members`) if it is compiled; `warc_opening`
                   repairs the files of a crash
    cdxj           the indexes of these archives
    dedupe         which bodies are archived already, here or by earlier crawls
    warc_reader    reads these archives back; `gzip_members` finds their intact parts
    database       rows in a database
    loads          archives what rendered pages load, too, and leaves out screenshots that show what it may not archive
    fanout         several sinks as one
    descriptor     what the rest of the program knows of a sink

Both formats grow only at the end, by complete records, through `appending`: it writes a record at once, and removes it
again if it did not fit. So only a crash can tear a file, and only at the end of the newest one. Opening a sink cuts off
such a tail. The page of a torn record was not done, so it is written again, under the same record number.

Durability `process`: once `write` returns, the record survives the end of the process, such as by `kill -9`. Durability
`power`: it survives a power cut; pages that are written at the same time share one fsync.

Every line (`number`) and every WARC record of a page (`X-Onceover-Number`) contains the record number. If two have the
same number, the later one counts.
"""
