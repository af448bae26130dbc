"""What a crawl has found, summed up: a report.

    forms     what a report holds, as `--json` prints it
    visits    what became of each URL, from the records, or else from the ledger
    counting  adds visits up, also over time, in bounded memory; pure
    counted   all that is counted of a crawl
    waiting   what hosts do now, and what their robots.txt files say
    lists     sections that name URLs
    making    makes a report of the crawl in a directory, whether it runs or not
    text      shows it to people
    html      shows it in a browser
    rows      writes a section as CSV

A section with counts is a field of `Report`, a class of `counting` that reads the visits as they pass, and a function
of `text`.
"""
