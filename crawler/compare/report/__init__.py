"""The report of a comparison, computed from the journal of trials.

`value` is the whole report as one value. `summary` puts all trials of a competitor into one row, `recommending` says
which set to use, and `expecting` whether expected figures were met. `table` shows the report in a terminal, `page` in a
browser. `plots` draws its plots with `drawing`.
"""
