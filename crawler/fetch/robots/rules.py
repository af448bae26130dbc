"""Parses robots.txt for one crawler: RFC 9309, as Google's matcher reads it.

Where the RFC is open, or real files violate it, we follow the parser that site owners test with
(https://github.com/google/robotstxt):

- `User-agent` names a crawler by its letters, dashes and underscores; the rest is ignored: `Foo/2.0` and `Foo bar` mean
  `Foo`, `* x` means all crawlers. Names must be equal: `Foo` does not address `Foobot`.
- Groups of the same name are one group. Only Allow and Disallow end a list of names, not blank or unknown lines. Rules
  before the first name apply to nobody.
- The longest matching pattern decides; between two of the same length, Allow wins. `*` matches anything, a final `$`
  the end. Patterns are compared with the escaped URL: `é` in a pattern means `%C3%A9`, an octet that is not UTF-8 is
  escaped as it is, `%aa` means `%AA`. A space means `%20`, which Google's parser leaves as it is: one in a hundred
  sites has rules with spaces, and no URL has any.
- Google's parser decodes nothing, but `%61` is an `a` by the RFC (section 2.2.2), and to most servers. Both must allow
  a path: see `PathRules`. `%7E` always means `~`, since many links and rules write it so.
- `Allow: /x/index.html` allows `/x/` too. The colon may be missing, and common misspellings of `Disallow` count.

Crawl-delay, which Google ignores, has groups of its own: the names directly above it. In `User-agent: *`,
`Crawl-delay: 10`, `User-agent: a`, `Crawl-delay: 2`, the 10 applies to all crawlers, and the 2 to `a` only. So have
Content-Usage and Content-Signal; above the first name, they apply to all crawlers.
"""

import re
from collections.abc import Sequence
from typing import Final

from crawler.fetch.octets import escape_octets
from crawler.fetch.robots.groups import Groups
from crawler.fetch.robots.usage_rules import GroupRules, UsageRules
from crawler.page import Preference
from crawler.preferences.signals import ROBOTS_GROUP, Refusals

_BYTE_ORDER_MARK = re.compile(rb"\xef(?:\xbb\xbf?)?")
"""Perhaps incomplete."""

_URL_BYTES: Final = 60
"""What a text takes beside its characters."""
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
    return escape_octets(body[mark.end() if mark else 0 :].decode("utf-8", "surrogateescape"))


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
        found = Groups(text, agent=agent, purposes=groups)
        ours = found.ours
        self.sitemaps = tuple(found.sitemaps)
        """The URLs of sitemaps as written, each once."""
        self.crawl_delay_s = ours.crawl_delay_s
        self.forbids = bool(ours.disallowed)
        """Whether it disallows anything."""
        self.forbids_all = ours.forbids_all
        """Whether it disallows every path."""
        self._paths = ours.rules()
        self._usage: list[UsageRules | GroupRules] = [UsageRules(name, values) for name, values in ours.usage.items()]
        for name, group in found.of_purposes.items():
            if group.disallowed:
                self._usage.append(GroupRules(name, group.rules(), refuses=groups[name]))
        self.size_bytes = sum(each.size_bytes for each in (self._paths, *self._usage)) + sum(
            _URL_BYTES + len(url) for url in self.sitemaps
        )
        """About what the rules take in memory."""

    def allows(self, path: str, /) -> bool:
        """Whether a path with its query may be fetched. It is serialised by the URL standard, with escapes in
        capitals."""
        return path == "/robots.txt" or self._paths.allows(path)

    def preferences(self, path: str, /) -> Sequence[Preference]:
        """What it says about the use of a path that may be fetched."""
        return [each for rules in self._usage for each in rules.of(path)] if self._usage else ()
