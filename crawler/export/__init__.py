"""Copies what a crawl has written into forms that other tools read, whether the crawl runs or not.

    settings    what the configuration of the crawl says
    snapshot    which records there are when an export begins; reads them, the last one of each number
    columns     what a column is
    pages       the table of pages: the columns of Common Crawl's columnar index, then ours
    links       the table of links
    archives    the WARC files of a crawl, and their records; writes their indexes as one
    captures    where the archive has a page, by the CDXJ index beside each WARC file, or by that file; the bodies of
                revisit records. `archived_pages` and `archived_text` make pages and texts of records
    partitions  divides rows among folders by the values of columns
    writers     writes rows as JSON Lines, CSV or Parquet
    manifest    what an export has done until now, in the folder that it writes to
    tables      exports a table
    wacz        packs the archive into one file that replays

An export takes a snapshot of the records: the names and sizes of their files. It reads no further, so the crawl may go
on. Each file is written aside (`aside`), synced and renamed. Then the manifest notes it, with the position in the
snapshot after its last row. So an interrupted export goes on there, with the same snapshot.

Nothing here opens the frontier. Commands, the daemon and `crawler.wiring.recovery` use this room.
"""
