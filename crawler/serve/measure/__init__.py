"""What the crawls of a daemon did, over time.

The daemon asks each running crawl every few seconds how it stands. Each answer is a sample: counts, which only grow,
and levels, such as queued URLs or memory. A crawl counts anew in each of its processes; here the counts go on, over
restarts of the crawl, of its parts, and of the daemon.

    values     a sample of a part, and of a crawl: the sum of its parts; counts that go on when a process counts anew;
               pure
    ring       a file of bounded size that holds samples, each with a checksum
    tiers      how long samples are kept, and at which distance; chooses those to show; pure
    history    the files of a crawl
    columns    a history as a plot takes it; pure
    recorder   the histories of all crawls
    exposition what Prometheus is told; pure

A sample lies in its file where its moment says, so the file needs no index, never grows, and has nothing to repair: a
sample whose checksum is wrong does not count. Nothing is synced; a power failure may cost the last samples.
"""
