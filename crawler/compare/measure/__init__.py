"""Trials: each measures one competitor on one work, in its own process.

`work` and `synthetic` are the links that a trial reads, and `preparing` brings links into that form. `trial` has the
request to a process, with the set that it measures, and its answer. `timing` measures speed and, with `meter`, memory,
`checking` what a set loses, and `process` measures and limits the process itself. `running` schedules trials, and
`folder` is their directory, with the journal of their outcomes.
"""
