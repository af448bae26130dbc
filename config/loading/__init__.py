"""Makes one checked configuration from files, environment and arguments.

`loader` runs the steps. `files` reads presets and the file in order, and `sources` gives entries with their origins;
`parsing` parses TOML, and `lines` finds the line of a key. `values` checks each entry against its setting, `checks`
checks values against each other, and `seeds` reads the seeds. `blocks` reads arrays of tables, and applies the
blocks `[[site]]`. `options` checks options of backends, and `backend_names` finds the backends that a configuration
names. `suggest` guesses what an unknown key was meant to be.
"""
