"""Sinks that write a row for each page into a database.

    rows          the columns of a page, and its row
    batches       rows that are written at the same time share a transaction
    leaving_out   rows that a database refuses though it takes others
    sqlite        a file beside the crawl
    sqlite_file   its tables, which the sink makes and migrates
    postgres      tables of PostgreSQL
    postgres_client   a connection that is made anew when it breaks
    postgres_dsn      how the server is named
    postgres_tables   the tables, and how pages get into them

A row has the number of its record as key, so a page that is written again replaces its row. `write` returns once the
transaction with the row is committed; until then nothing of the page is in the tables. When a transaction fails, all of
its pages get the `OSError`, and none of them is in the tables.

The columns follow from the fields of `PageRecord`. When a record gets a new field, the sink adds the column to tables
that it finds. The version of a schema only changes when that does not suffice; a sink refuses tables of a newer one.
"""
