"""A walk over a web site, written from the HTML standard with lxml and the standard library, and with nothing of ours.

It goes wherever a crawl with the default settings must go, one request after the other; so what a crawl finds more or
less than it is a fault of one of the two. Of a page it follows every attribute that holds the URL of a document or of
a part of one (HTML standard, "Index of attributes"; the obsolete `frame`, `background` and `xlink:href`), but for
forms, which are asked for and not gone to, and for citations (`cite`); and all URLs of style sheets, in files and in
pages. Only HTML and CSS are read, and only if their status says that they are what was asked for. Of sitemaps, feeds
and headers it knows nothing.
"""

import http.client
import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, urldefrag, urljoin, urlsplit

import lxml.etree

_URL_ATTRIBUTES = {
    "a": ("href", "xlink:href"),
    "area": ("href",),
    "audio": ("src",),
    "body": ("background",),
    "embed": ("src",),
    "frame": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src",),
    "table": ("background",),
    "td": ("background",),
    "th": ("background",),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
_SETS_OF_IMAGES = {"img": "srcset", "source": "srcset", "link": "imagesrcset"}
_NO_DOCUMENT = {"preconnect", "dns-prefetch"}
"""Values of `rel` whose URL names a server alone."""
_CSS_URL = re.compile(r"""(?:url\(|@import)\s*(?:"([^"]*)"|'([^']*)'|(?<=\()([^\s"')]+))""", re.IGNORECASE)
_ASCII_WHITE_SPACE = "\t\n\f\r "
_LEFT_AS_IS = "%/:?&=+$,;@!~*'()[]|"
"""What the URL standard leaves as it is in paths and queries, beside letters, digits and `-._`."""


class Walked(NamedTuple):
    """What a walk met, by URL without fragment."""

    statuses: dict[str, int]
    redirects: dict[str, str]
    """Where each redirect leads to, absolute."""
    links: dict[str, set[str]]
    """Of each page that was read, the http and https URLs on it, wherever they lead."""

    def having(self, status: int) -> set[str]:
        return {url for url, its_status in self.statuses.items() if its_status == status}


def walk(start: str, *, prefix: str | None = None) -> Walked:
    """Fetch all that can be reached from `start` without leaving its host, or what begins with `prefix`."""
    walked = Walked({}, {}, {})
    within = prefix or urljoin(start, "/")
    waiting = deque([start])
    connection = http.client.HTTPConnection(urlsplit(start).netloc)
    try:
        while waiting:
            url = waiting.popleft()
            if url in walked.statuses:
                continue
            path = url[len(urljoin(url, "/")) - 1 :]
            connection.request("GET", path)
            with connection.getresponse() as response:
                body = response.read()
            walked.statuses[url] = response.status
            found: set[str] = set()
            if response.status in {301, 302, 303, 307, 308}:
                walked.redirects[url] = _absolute(url, response.headers["Location"])
                found = {walked.redirects[url]}
            elif response.status == 200:
                charset = response.headers.get_content_charset()
                match response.headers.get_content_type():
                    case "text/html":
                        found = walked.links[url] = set(links(body, url, charset=charset))
                    case "text/css":
                        found = walked.links[url] = {
                            _absolute(url, href) for href in css_urls(body.decode(charset or "utf-8"))
                        }
            waiting.extend(found_url for found_url in found if found_url.startswith(within))
    finally:
        connection.close()
    return walked


def links(html: bytes, url: str, *, charset: str | None = None) -> Iterator[str]:
    """The http and https URLs of a page, absolute, without fragment."""
    root = lxml.etree.fromstring(html, lxml.etree.HTMLParser(encoding=charset, huge_tree=True))
    base = next((element.get("href") for element in root.iter("base") if element.get("href")), None)
    base_url = urljoin(url, base.strip(_ASCII_WHITE_SPACE)) if base else url
    for href in _hrefs(root):
        absolute = _absolute(base_url, href)
        if absolute.startswith(("http://", "https://")):
            yield absolute


def css_urls(css: str) -> list[str]:
    """The URLs of a style sheet; good enough for those that escape nothing."""
    found = _CSS_URL.findall(re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL))
    return ["".join(alternatives) for alternatives in found]


def _hrefs(root: lxml.etree._Element) -> Iterator[str]:
    for element in root.iter(*_URL_ATTRIBUTES):
        if element.tag == "link" and _NO_DOCUMENT & set(element.get("rel", "").lower().split()):
            continue
        for name in _URL_ATTRIBUTES[element.tag]:
            value = element.get(name)
            # Only of a link an empty URL means the document itself.
            if value or (value is not None and element.tag in {"a", "area"}):
                yield value
    for tag, name in _SETS_OF_IMAGES.items():
        for element in root.iter(tag):
            # Good enough for URLs without commas, which no page of the documentation has.
            yield from (candidate.split()[0] for candidate in element.get(name, "").split(",") if candidate.strip())
    for element in root.iter("input"):
        if element.get("type", "").lower() == "image" and element.get("src"):
            yield element.get("src", "")
    for element in root.iter("style"):
        yield from css_urls(element.text or "")
    for element in root.iter("*"):
        yield from css_urls(element.get("style", ""))
    for element in root.iter("meta"):
        refresh = re.match(r"[\s\d.]+[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", element.get("content", ""), re.IGNORECASE)
        if element.get("http-equiv", "").lower() == "refresh" and refresh:
            yield refresh[1]


def _absolute(base: str, href: str) -> str:
    """The URL that `href` means on a page with that base URL; it may be of any scheme."""
    href = re.sub(r"[\t\n\r]", "", href.strip(_ASCII_WHITE_SPACE))
    try:
        parts = urlsplit(urldefrag(urljoin(base, href)).url)
    except ValueError:
        return ""
    return parts._replace(
        path=quote(parts.path, safe=_LEFT_AS_IS) or "/", query=quote(parts.query, safe=_LEFT_AS_IS)
    ).geturl()
