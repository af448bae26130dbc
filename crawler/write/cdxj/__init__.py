"""The index of an archive: which capture lies where, as CDXJ, a line for each.

    surt_key    the key by which lines are sorted, and URLs are looked up
    lines       makes a line, and reads one
    heads       reads the heads of WARC records
    making      makes the index of an archive that has none
    open_index  the index of an archive that is being written
    sorting     sorts lines in bounded memory
    merging     the indexes of many archives as one, in order

`X.warc.gz` has the index `X.warc.gz.cdxj`. It is written along as `X.warc.gz.cdxj.open`, in the order of the archive,
and sorted when the archive is complete. An index holds nothing that the archive does not hold, so it need not survive a
crash: opening the sink makes those anew that were open.
"""
