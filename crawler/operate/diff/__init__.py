"""What has changed between two crawls of a web, or in one crawl since a moment: a difference.

    forms      what a difference holds, as `--json` prints it
    sides      reads each side, from records, into a temporary table
    comparing  compares the sides of the table
    making     makes the difference of crawls in directories
    text       shows it to people, and writes it as CSV

A URL counts by its last visit on each side, under the name by which the later crawl knows it. It takes memory for what
is shown, not for what is read.
"""
