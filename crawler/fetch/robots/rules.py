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
`Crawl-delay: 10`, `User-agent: a`, `Crawl-delay: 2`, the 10 applies to all crawlers, and the 2 to `a` only.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

import msgspec

_MAX_LINE_CHARACTERS: Final = 8 * 2083 - 1
"""The rest of a longer line is ignored."""
_LINE_END = re.compile("\r\n|\r|\n")
_NAME = re.compile("[A-Za-z_-]*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_TO_ESCAPE = re.compile("%[0-9A-Fa-f]{2}|[^\x00-\x7f]+")
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
)


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


class Pattern(msgspec.Struct, frozen=True, gc=False):
    """One Allow or Disallow."""

    allows: bool
    length: int
    """The length of the whole escaped pattern: the longest match decides."""
    start: str
    """The text before the first `*`."""
    pieces: tuple[str, ...]
    """The texts after each `*`."""
    to_end: bool
    """Whether the pattern ends with `$`."""

    def matches(self, path: str) -> bool:
        """Takes time proportional to the path: it searches each piece once, from the end of the previous one."""
        if not path.startswith(self.start):
            return False
        if not self.pieces:
            return not self.to_end or len(path) == len(self.start)
        position = len(self.start)
        *middle, last = self.pieces
        for piece in middle:
            found = path.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        if self.to_end:
            return len(path) - len(last) >= position and path.endswith(last)
        return path.find(last, position) >= 0


class RobotsRules:
    """The rules of one robots.txt for one crawler."""

    def __init__(self, text: str, /, *, agent: str) -> None:
        """`agent`: the product token. Lines that make no sense are ignored."""
        sitemaps: dict[str, None] = {}
        own: list[Pattern] = []
        everybodys: list[Pattern] = []
        own_delay: float | None = None
        everybodys_delay: float | None = None
        named = names_us = names_all = ended = False
        delays_us = delays_all = names_follow = False
        agent = agent.lower()
        for key, value in _directives(text):
            if key == "user-agent":
                if ended:
                    names_us = names_all = ended = False
                if not names_follow:
                    delays_us = delays_all = False
                    names_follow = True
                if value == "*" or (value.startswith("*") and value[1].isspace()):
                    names_all = delays_all = True
                elif (name := _NAME.match(value)) and name[0].lower() == agent:
                    named = names_us = delays_us = True
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
            else:
                # Rules for other crawlers end the list of names too.
                ended = True
                names_follow = False
                if names_us or names_all:
                    (own if names_us else everybodys).extend(_patterns(key == "allow", value))
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
        self._index = _Index(sorted(dict.fromkeys(patterns), key=lambda each: (-each.length, not each.allows)))

    def allows(self, path: str, /) -> bool:
        """Whether a path with its query may be fetched. It is serialised by the URL standard, with escapes in
        capitals."""
        if path == "/robots.txt":
            return True
        for pattern in self._index.candidates(path):
            if pattern.matches(path):
                return pattern.allows
        return True


class _Index:
    """Finds the patterns that may match a path, among thousands. Each pattern is filed under one of its literals: its
    start or a piece after a `*`, whichever the fewest patterns share."""

    def __init__(self, ranked: list[Pattern]) -> None:
        """`ranked`: patterns in order of rank; the first match decides."""
        self._by_start: dict[str, list[tuple[int, Pattern]]] = {}
        self._by_piece: dict[str, list[tuple[int, Pattern]]] = {}
        starts = Counter(pattern.start for pattern in ranked)
        pieces = Counter(piece for pattern in ranked for piece in set(pattern.pieces) if piece)
        for rank, pattern in enumerate(ranked):
            piece = min(filter(None, pattern.pieces), key=lambda piece: (pieces[piece], -len(piece)), default="")
            if piece and pieces[piece] < starts[pattern.start]:
                self._by_piece.setdefault(piece, []).append((rank, pattern))
            else:
                self._by_start.setdefault(pattern.start, []).append((rank, pattern))
        self._start_lengths = sorted({len(start) for start in self._by_start})
        self._piece_lengths = sorted({len(piece) for piece in self._by_piece})

    def candidates(self, path: str) -> list[Pattern]:
        """The patterns that may match a path, by rank."""
        found = [ranked for length in self._start_lengths for ranked in self._by_start.get(path[:length], ())]
        # Search either each piece in the path, or each part of the path among the pieces, whichever is less work.
        if len(self._by_piece) <= len(path) * len(self._piece_lengths):
            held = [piece for piece in self._by_piece if piece in path]
        else:
            parts = (path[at : at + length] for length in self._piece_lengths for at in range(len(path) - length + 1))
            held = [part for part in set(parts) if part in self._by_piece]
        found += (ranked for piece in held for ranked in self._by_piece[piece])
        found.sort(key=itemgetter(0))
        return [pattern for _, pattern in found]


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


def _patterns(allows: bool, value: str) -> Iterator[Pattern]:
    if not value:
        return
    escaped = _TO_ESCAPE.sub(_escape, value)
    yield _pattern(allows, escaped)
    directory, slash, page = escaped.rpartition("/")
    if allows and slash and page.startswith("index.htm"):
        yield _pattern(allows, f"{directory}/$")


def _pattern(allows: bool, escaped: str) -> Pattern:
    to_end = escaped.endswith("$")
    start, *pieces = (escaped[:-1] if to_end else escaped).split("*")
    return Pattern(allows, len(escaped), start, tuple(pieces), to_end)


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith("%"):
        return found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "replace"))


def _delay(value: str) -> float | None:
    """The number at the start of the value: some write `10s`, or a comment after it."""
    match = _NUMBER.match(value)
    delay_s = float(match[0]) if match else math.inf
    return delay_s if math.isfinite(delay_s) else None
