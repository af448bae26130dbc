"""Guesses URLs in scripts: in JSON-LD and in strings of inline JavaScript. Such links are marked as speculative.

No script is run. In JSON-LD every string that is an absolute URL counts, except the vocabulary. In JavaScript every
quoted string counts that is an absolute URL or a path that begins with a slash. Half of these lead nowhere.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

MAX_SCRIPT_CHARACTERS: Final = 1_000_000
"""Limit per script; the rest is ignored."""
_MAX_STRING_CHARACTERS: Final = 2083
_JSON_TYPES: Final = frozenset({"application/ld+json", "application/json"})
_JAVASCRIPT_TYPES: Final = frozenset({"", "module", "text/javascript", "application/javascript"})
_STRING: Final = re.compile(
    r"""(["'`])((?:https?:)?(?:\\?/){1,2}(?>[^"'`<>\\\s{}]*(?:\\/[^"'`<>\\\s{}]*)*))\1""",
)
_WORTH_A_GUESS: Final = re.compile(r"(?:https?:)?//[^/]+\.[^/]+|/[\w~%.-][/\w~%.?=&-]*[\w/]$")


def script_urls(text: str, media_type: str, /) -> Iterator[str]:
    """Probable URLs in a script of that type, each once, in order."""
    text = text[:MAX_SCRIPT_CHARACTERS]
    if media_type in _JSON_TYPES:
        yield from dict.fromkeys(_json_urls(text))
    elif media_type in _JAVASCRIPT_TYPES:
        yield from dict.fromkeys(_strings(text))


def _json_urls(text: str) -> Iterator[str]:
    try:
        waiting = [json.loads(text, strict=False)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(inner for name, inner in reversed(value.items()) if name not in ("@context", "@type"))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, str) and value.startswith(("http://", "https://")) and not re.search(r"\s", value):
            yield value


def _strings(text: str) -> Iterator[str]:
    for found in _STRING.finditer(text):
        url = found[2].replace("\\/", "/")
        if len(url) <= _MAX_STRING_CHARACTERS and _WORTH_A_GUESS.match(url):
            yield url
