"""The report of a comparison, computed from the journal of trials.

`value` is the whole report as one value. `summary` puts all trials of a competitor in one row, `recommending` says what
to take, `expecting` whether foretold figures were met. `table` shows it in a terminal, `plots` on paper, `page` in a
browser, each competitor in its colour (`colours`).
"""
