"""Shows a configuration: `render` as rows and as TOML, `changes` in words, `json_schema` for editors. `rewrite` changes
values in one that somebody has written.
"""
