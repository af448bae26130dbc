"""Types of values that several sections use."""

from typing import Annotated, Any, Final

from msgspec import Meta


def matching(pattern: str, form: str | None = None, **more: str) -> Meta:
    """What a text must be: a regular expression that matches all of it, and its form in words. `more` is as in the
    `extra` of a `msgspec.Meta`."""
    # In Python, unlike in JSON Schema, `$` also matches before a final line feed. This only matches at the end in both.
    whole = rf"^{pattern}(?![\s\S])"
    return Meta(pattern=whole, extra=None if form is None else {"form": form, **more})


IN_NAME = r"[^\x00-/:-@\[-^`{-\x7f]"
"""A character of a host name, which may be beyond ASCII, as in `münchen.example`, but for dots and dashes."""
Text = Annotated[
    str, matching(r"[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*", "not empty and without control characters")
]
Place = Annotated[
    Text, Meta(extra={"form": 'a host, a domain as "*.example.org", a URL up to its last slash, or a SURT prefix'})
]
Options = dict[str, Any]
"""Options of a backend, checked by its own structs."""
DAY_S = 86_400
YEAR_S = 366 * DAY_S
MOST = 10**12
PER_SITE = Meta(extra={"per_site": True})
"""The note of a setting that a block `[[site]]` may set, too. `wiring` gives it to its component by URL or by queue."""

PURPOSES: Final = ("search", "archive", "text-mining", "ai-use", "train-ai")
Purpose = Annotated[str, matching(rf"({'|'.join(PURPOSES)})", " or ".join(f'"{each}"' for each in PURPOSES))]
AgentName = Annotated[str, matching(r"[A-Za-z_-]{1,100}", "of letters, dashes and underscores")]


def between(least: float, most: float, unit: str | None = None) -> Meta:
    """The limits of a number, and its unit. Texts with a unit, as "5 min" and "20 MB", are accepted for "seconds" and
    "bytes"; any other word is only shown."""
    return Meta(ge=least, le=most, extra=None if unit is None else {"unit": unit})


def meaning(text: str) -> Meta:
    """What a setting does, for people."""
    return Meta(description=text)
