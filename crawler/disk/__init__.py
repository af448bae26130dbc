"""The disk of a crawl: its directory, and what to do when the disk is full.

`directory` knows where state and output are, and locks them. `layout` knows the directories of the parts of a crawl,
`lineages` which record numbers are left to it.
`durable_file` replaces a file as a whole. `syncing` brings files onto the disk. `free_space` watches
the disk and holds the crawl before the disk is full. `earlier` knows where earlier crawls have their archives.
`full_disk_retry` repeats writes that fail because the disk is full.
"""
