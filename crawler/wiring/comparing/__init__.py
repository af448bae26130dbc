"""Puts comparison runs together from their configuration.

    blocks   what the blocks of the configuration name: the visited sets that are compared, and the links for them
    worker   one trial in its own process
    ending   how such a process ends before its time

`onceover compare` uses this room. `crawler.compare` measures and reports.
"""
