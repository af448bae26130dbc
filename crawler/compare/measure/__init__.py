"""Trials: each measures one competitor on one work, in a process of its own.

`work` and `synthetic` are what a trial reads, and `preparing` brings links into that form. `trial` is what is asked of
a process and what it answers; `competitor`, `contestant` and `others` say which set it measures. `timing` measures
speed and memory, `checking` what a set loses, `process` limits the trial's process. `running` schedules trials,
`journal` keeps their results, `folder` is their directory.
"""
