"""Serves the files of the page."""

from hashlib import blake2b
from http import HTTPStatus
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import msgspec
from aiohttp import web

_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

_POLICY: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)

_HEADERS: Final = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A browser asks each time whether its copy still holds, so an upgraded daemon never meets an old script.
    "Cache-Control": "no-cache",
}


class PageFile(msgspec.Struct, frozen=True):
    """A file of the page."""

    body: bytes
    media_type: str
    tag: str
    """Differs when the body does."""

    async def answer(self, request: web.Request) -> web.Response:
        headers = {**_HEADERS, "ETag": f'"{self.tag}"'}
        known = request.if_none_match or ()
        if any(each.value == self.tag for each in known):
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        return web.Response(body=self.body, content_type=self.media_type, charset="utf-8", headers=headers)


def page_files() -> dict[str, PageFile]:
    """All files of the page, by their paths; the page itself is `/`."""
    found = _below(files(__package__) / "static", "/")
    return {"/": found.pop("/index.html"), **found}


def _below(folder: Traversable, path: str) -> dict[str, PageFile]:
    found: dict[str, PageFile] = {}
    for entry in folder.iterdir():
        suffix = entry.name[entry.name.rfind(".") :]
        if entry.is_dir():
            found |= _below(entry, f"{path}{entry.name}/")
        elif suffix in _TYPES:
            body = entry.read_bytes()
            found[path + entry.name] = PageFile(body, _TYPES[suffix], blake2b(body, digest_size=12).hexdigest())
    return found
