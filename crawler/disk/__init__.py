"""The disk of a crawl: its directory, and what happens when there is no room left.

`directory` says where state and output lie and locks it. `free_space` watches the disk and holds the crawl before it is
full. `full_disk_retry` makes writes wait that fail because the disk is full.
"""
