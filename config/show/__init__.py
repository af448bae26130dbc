"""A configuration, shown: `render` as rows and TOML, `changes` in words, `json_schema` for editors, `markdown` for the
manual.
"""
