"""Builds README.md, CONTRIBUTING.md, CHANGELOG.md and docs/ as one set of HTML pages: `make docs`."""

from pathlib import Path

from sphinx.application import Sphinx

REPOSITORY = Path(__file__).parents[1]

TOCTREE = """
```{toctree}
:hidden:
:glob:
../README.md
*
../CONTRIBUTING.md
../CHANGELOG.md
```
"""

project = "onceover"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**"]
# Sphinx walks all directories that are not excluded, and environments and crawls have very many files.
exclude_patterns = [entry.name for entry in REPOSITORY.iterdir() if entry.is_dir() and entry.name != "docs"]
nitpicky = True
highlight_language = "none"
smartquotes = False
myst_heading_anchors = 4

html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "description": "A web crawler that loses no page"}
html_show_copyright = False


def _add_toctree(_: Sphinx, docname: str, source: list[str]) -> None:
    """List all pages in the sidebar. In index.md itself, GitHub would show the directive as text."""
    if docname == root_doc:
        source[0] += TOCTREE


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_toctree)
