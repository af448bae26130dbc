"""A report for a browser: one HTML file that needs nothing else, and no script.

    tables   tables of what strangers have written, escaped
    plots    what is plotted of a report, as SVG
    lists    its lists as tables
    page     puts the page together

It prints well, is dark where the reader wants that, and fits a phone.
"""
