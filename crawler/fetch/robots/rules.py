"""Parses robots.txt for one crawler: RFC 9309, as Google's matcher reads it.

Where the RFC is open, or real files violate it, we follow the parser that site owners test with
(https://github.com/google/robotstxt):

- `User-agent` names a crawler by its letters, dashes and underscores; the rest is ignored: `Foo/2.0` and `Foo bar` mean
  `Foo`, `* x` means all crawlers. Names must be equal: `Foo` does not address `Foobot`.
- Groups of the same name are one group. Only Allow and Disallow end a list of names, not blank or unknown lines. Rules
  before the first name apply to nobody.
- The longest matching pattern decides; between two of the same length, Allow wins. `*` matches anything, a final `$`
the
  end. Patterns are compared with the escaped URL: `é` in a pattern means `%C3%A9`, an octet that is not UTF-8 is
  escaped as it is, `%aa` means `%AA`, and nothing is decoded.
- `Allow: /x/index.html` allows `/x/` too. The colon may be missing, and common misspellings of `Disallow` count.

Crawl-delay, which Google ignores, has groups of its own: the names directly above it. In `User-agent: *`,
`Crawl-delay: 10`, `User-agent: a`, `Crawl-delay: 2`, the 10 applies to all crawlers, and the 2 to `a` only. So have
Content-Usage and Content-Signal; above the first name, they apply to all crawlers.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from crawler.fetch.robots.patterns import Pattern, PatternIndex, ranked, read_patterns
from crawler.fetch.robots.usage_rules import GroupRules, UsageRules
from crawler.page import Preference
from crawler.preferences.signals import CONTENT_SIGNAL, CONTENT_USAGE, ROBOTS_GROUP, Refusals

_MAX_LINE_CHARACTERS: Final = 8 * 2083 - 1
"""The rest of a longer line is ignored."""
_LINE_END = re.compile("\r\n|\r|\n")
_NAME = re.compile("[A-Za-z_-]*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_BYTE_ORDER_MARK = re.compile(rb"\xef(?:\xbb\xbf?)?")
"""Perhaps incomplete."""
_NO_UTF8 = re.compile("[\udc80-\udcff]")
_GAP = re.compile(r"[ \t]+")
_WHITE_SPACE: Final = " \t\v\f"
"""Other characters, such as the no-break space, belong to the key or value."""

_KEYS: Final = (
    ("user-agent", "user-agent"),
    ("useragent", "user-agent"),
    ("user agent", "user-agent"),
    ("allow", "allow"),
    *((spelling, "disallow") for spelling in "disallow dissallow dissalow disalow diasllow disallaw".split()),
    ("sitemap", "sitemap"),
    ("site-map", "sitemap"),
    ("crawl-delay", "crawl-delay"),
    ("crawl delay", "crawl-delay"),
    *((name, name) for name in (CONTENT_USAGE.name, CONTENT_SIGNAL.name)),
)
_USAGE: Final = frozenset({CONTENT_USAGE.name, CONTENT_SIGNAL.name})

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""The minimum that RFC 9309, section 2.5, requires; the rest is ignored."""


def product_token(user_agent: str, /) -> str:
    """The name of a crawler in robots.txt: `onceover` for `onceover/1.0 (+https://example.org/)` and for
    `Mozilla/5.0 (compatible; onceover/1.0)`. RFC 9309, section 2.2.1. Raises `ValueError` if there is none."""
    match = re.search(r"[(;]\s*compatible;\s*([A-Za-z_-]+)", user_agent) or re.match(r"\s*([A-Za-z_-]+)", user_agent)
    if match is None:
        raise ValueError(
            f"user agent {user_agent!r} does not begin with a name, as 'onceover/1.0 (+https://example.org/)'"
        )
    return match[1].lower()


def read_robots(body: bytes, /, *, is_cut: bool = False) -> str:
    """Decode robots.txt as UTF-8, up to the limit, to the end of a line. Other octets are escaped as in URLs. If the
    body `is_cut`, an incomplete last line is dropped."""
    is_cut = is_cut or len(body) > MAX_ROBOTS_BYTES
    body = body[:MAX_ROBOTS_BYTES]
    if (utf16 := _utf16(body)) is not None:
        text = body.decode(utf16, "ignore")
        return text[: max(text.rfind("\n"), text.rfind("\r")) + 1] if is_cut else text
    if is_cut:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    mark = _BYTE_ORDER_MARK.match(body)
    text = body[mark.end() if mark else 0 :].decode("utf-8", "surrogateescape")
    return _NO_UTF8.sub(lambda octet: f"%{ord(octet[0]) - 0xDC00:02X}", text)


def _utf16(body: bytes) -> str | None:
    """The codec for a file in UTF-16, with or without byte order mark; None for any other."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if body[:4:2] == b"\0\0" != body[1:4:2]:
        return "utf-16-be"
    return "utf-16-le" if body[1:4:2] == b"\0\0" != body[:4:2] else None


class RobotsRules:
    """The rules of one robots.txt for one crawler."""

    def __init__(self, text: str, /, *, agent: str, groups: Refusals = ROBOTS_GROUP.refuses) -> None:
        """`agent`: the product token. `groups`: names that stand for a purpose instead of a crawler, in lower case, and
        the purposes that such a group refuses. Lines that make no sense are ignored."""
        sitemaps: dict[str, None] = {}
        own: list[Pattern] = []
        everybodys: list[Pattern] = []
        of_purposes: dict[str, list[Pattern]] = {}
        own_usage: dict[str, list[str]] = {}
        everybodys_usage: dict[str, list[str]] = {}
        own_delay: float | None = None
        everybodys_delay: float | None = None
        named = names_us = names_all = ended = has_names = False
        delays_us = delays_all = names_follow = False
        names_purposes: set[str] = set()
        agent = agent.lower()
        for key, value in _directives(text):
            if key == "user-agent":
                has_names = True
                if ended:
                    names_us = names_all = ended = False
                    names_purposes.clear()
                if not names_follow:
                    delays_us = delays_all = False
                    names_follow = True
                if value == "*" or (value.startswith("*") and value[1].isspace()):
                    names_all = delays_all = True
                elif name := _NAME.match(value):
                    if (lower := name[0].lower()) == agent:
                        named = names_us = delays_us = True
                    if lower in groups:
                        names_purposes.add(lower)
            elif key == "sitemap":
                if url := value.strip():
                    sitemaps[url] = None
            elif key == "crawl-delay":
                names_follow = False
                delay = _delay(value)
                if delays_us:
                    own_delay = own_delay if delay is None else delay
                elif delays_all:
                    everybodys_delay = everybodys_delay if delay is None else delay
            elif key in _USAGE:
                names_follow = False
                if delays_us or not has_names:
                    own_usage.setdefault(key, []).append(value)
                if delays_all or not has_names:
                    everybodys_usage.setdefault(key, []).append(value)
            else:
                # Rules for other crawlers end the list of names too.
                ended = True
                names_follow = False
                if names_us or names_all or names_purposes:
                    found = list(read_patterns(value, allows=key == "allow"))
                    if names_us or names_all:
                        (own if names_us else everybodys).extend(found)
                    for each in names_purposes:
                        of_purposes.setdefault(each, []).extend(found)
        self.sitemaps = tuple(sitemaps)
        """The URLs of sitemaps as written, each once."""
        self.crawl_delay_s = own_delay if named else everybodys_delay
        patterns = own if named else everybodys
        self.forbids = any(not each.allows for each in patterns)
        """Whether it disallows anything."""
        self.forbids_all = not any(each.allows for each in patterns) and any(
            not each.allows and each.start in ("", "/") and not any(each.pieces) and not each.to_end
            for each in patterns
        )
        """Whether it disallows every path."""
        self._index = PatternIndex(ranked(patterns))
        usage = own_usage if named else everybodys_usage
        self._usage: list[UsageRules | GroupRules] = [UsageRules(name, values) for name, values in usage.items()]
        self._usage += [GroupRules(name, found, refuses=groups[name]) for name, found in of_purposes.items()]

    def allows(self, path: str, /) -> bool:
        """Whether a path with its query may be fetched. It is serialised by the URL standard, with escapes in
        capitals."""
        return path == "/robots.txt" or self._index.allows(path)

    def preferences(self, path: str, /) -> Sequence[Preference]:
        """What it says about the use of a path that may be fetched."""
        return [each for rules in self._usage for each in rules.of(path)] if self._usage else ()


def _directives(text: str) -> Iterator[tuple[str, str]]:
    """The known keys, by their standard names, with their values."""
    for line in _LINE_END.split(text):
        content = line[:_MAX_LINE_CHARACTERS].partition("#")[0].partition("\0")[0].strip(_WHITE_SPACE)
        key, colon, value = content.partition(":")
        if not colon:
            words = _GAP.split(content)
            if len(words) != 2:
                continue
            key, value = words
        key = key.strip(_WHITE_SPACE).lower()
        for spelling, name in _KEYS:
            if key.startswith(spelling):
                yield name, value.strip(_WHITE_SPACE)
                break


def _delay(value: str) -> float | None:
    """The number at the start of the value: some write `10s`, or a comment after it."""
    match = _NUMBER.match(value)
    delay_s = float(match[0]) if match else math.inf
    return delay_s if math.isfinite(delay_s) else None
