"""An HTML document that needs nothing else: the frame of all reports."""

from string import Template
from typing import Final

_FRAME: Final = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<main>
<header>
<h1>$title</h1>
<p>$subtitle</p>
</header>
$body
<footer>
<p>$footer</p>
</footer>
</main>
</body>
</html>
""")


def html_document(*, title: str, subtitle: str, style: str, body: str, footer: str) -> str:
    """All parts but the style are HTML."""
    return _FRAME.substitute(title=title, subtitle=subtitle, style=style, body=body, footer=footer)
