"""Makes one checked configuration from files, environment and arguments.

`loader` runs the steps, and `loaded` is what they make. `files` reads presets and the file in order, and `sources`
gives entries with their origins; `lines` finds the line of a key. `values` checks each entry against its setting, those
for options of backends too, `checks` checks values against each other, and `seeds` reads the seeds. `blocks` reads
arrays of tables, and applies the blocks `[[site]]`. `tables` are what a program gives. `suggest` guesses what an
unknown key was meant to be.
"""
