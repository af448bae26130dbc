"""Puts comparison runs together from their configuration.

    competitors   the visited sets that are compared; whether the blocks of the configuration fit together
    works         the links that they are given
    worker        one trial in its own process

`onceover compare` uses this room. `crawler.compare` measures and reports.
"""
