"""`onceover compare`: measures visited sets on the same work, or advises by the formulas.

`command` reads the command line and writes the report, `measuring` runs the trials with a progress bar, `advice`
answers `--advise`. `live` is a process of its own, in which one crawl of a comparison runs.
"""
