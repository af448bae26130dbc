"""Puts comparison runs together from their configuration.

    competitors   the visited sets that are compared
    works         the links that they are given
    trials        runs each set on each work, and what their results must fulfil
    worker        one trial in its own process
    checks        whether the blocks of the configuration fit together

`onceover compare` uses this room. `crawler.compare` measures and reports.
"""
