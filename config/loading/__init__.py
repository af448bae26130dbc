"""From files, environment and arguments to one checked configuration.

`loader` runs the steps: `sources` gives entries with their origin (`lines` knows the line of a key), `values` checks
each against its setting, `checks` checks values against each other, `seeds` reads the seeds. `blocks` reads arrays of
tables, `sites` applies the blocks `[[site]]`. `suggest` guesses what an unknown key was meant to be.
"""
