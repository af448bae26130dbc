"""Shows a configuration: `render` as rows and as TOML, `changes` in words, `json_schema` for editors, `markdown` for
the manual.
"""
