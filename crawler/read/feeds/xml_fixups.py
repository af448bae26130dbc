"""Repairs XML so that a parser reads it to its end.

An XML parser must stop at the first mistake, and many sitemaps and feeds contain one: text before the document, an `&`
in a URL, a second document after the first, a surplus end tag. Their authors test with software that tolerates it.
"""

import re
from collections.abc import Iterable, Iterator
from html.entities import html5
from itertools import chain
from typing import Final

from crawler.read.feeds.xml_prolog import (
    MAX_PROLOG_BYTES,
    READABLE,
    Entities,
    find_root,
)

_OTHER_AMPERSAND: Final = re.compile(
    rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});)(?:([A-Za-z_][A-Za-z0-9_.-]{0,31});)?"
)
"""An `&` that begins no reference of XML, and the name after it."""
_PLAIN_VALUES: Final = rb"(?:\"[^\"<]*\"[^<>\"']*|'[^'<]*'[^<>\"']*)*"
_NO_MARKUP: Final = (
    rb"<(?!\?[A-Za-z_:\x80-\xff]|/[^<>]*(?:>%b)"
    rb"|[A-Za-z_:\x80-\xff][^<>\"']*(?>"
    + _PLAIN_VALUES
    + rb"(?:(?:\"[^\"]*\"|'[^']*')[^<>\"']*"
    + _PLAIN_VALUES
    + rb"){0,3})(?:>%b))"
    rb"(/[A-Za-z_:\x80-\xff][^\s<>]*(?=<))?"
)
_STRAY: Final = re.compile(_NO_MARKUP % (b"", b""))
"""A `<` that begins no markup, as in `a < b`, or the `<!` of HTML, or a tag without an end before the next `<`. For the
end of each such tag a parser would search the rest of the document, which takes quadratic time. A few values of a tag
may contain a `<`. An end tag that lacks only its `>` is found as a whole."""
_STRAY_IN_PIECE: Final = re.compile(_NO_MARKUP % (rb"|\Z", rb"|(?:[\"'][^<]*)?\Z"))
"""The same where a tag may go on after the end."""
_UNFINISHED_TAG: Final = re.compile(rb"</?(?:[A-Za-z_:\x80-\xff]|\Z)")
_MAX_TORN_TAG_BYTES: Final = 8192
"""A tag of up to this length that goes on in the next piece is read together with that."""
_ROOT_TAG: Final = re.compile(rb"(<[\w.:-]+(?>(?:\s+[\w.:-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*))[^<]*(?=<)")
"""The tag of a root that has no end before the next `<`, and what of it is well-formed."""
_OPENING: Final = re.compile(rb"<!(?:--|\[CDATA\[)")
_CDATA_END: Final = b"]]>"
_COMMENT_END: Final = b"-->"
_TORN: Final = re.compile(rb"(?:&[#0-9A-Za-z_.-]{0,33}|<(?:!(?:-+|\[(?:C(?:D(?:A(?:TA?)?)?)?)?)?)?|\]{1,2}|-{1,2})\Z")
"""The end of a piece that must be read together with the next one."""
_MAX_TORN_BYTES: Final = 40
_CHUNK_BYTES: Final = 1 << 16
_MAX_SUBSET_BYTES: Final = 2000
"""Of a second prolog. Without a limit, each of thousands would be searched for its end up to that of the piece."""
_NEXT_PROLOG: Final = re.compile(
    rb"<\?xml[^<>]*\?>|<!DOCTYPE[^\[<>]*(?:\[[^\]]{0,%d}\]\s{0,100})?>" % _MAX_SUBSET_BYTES
)
"""A second prolog, which no parser tolerates within a document."""
_ROOT_END: Final = re.compile(rb"</(?:[\w.-]+:)?(?:%b)\s*>" % b"|".join(READABLE), re.IGNORECASE)
_MAX_TRAILER_BYTES: Final = 1000
"""Room for what generators write after the root, such as how long they took."""
_GROWTH: Final = 4
"""Expanded entities may have this many times the size of the document."""
_GROWTH_BYTES: Final = 10_000


class RepairedXml:
    """A document in UTF-8 from its root on, in pieces. Can be iterated over once. Empty if there is no root that we
    read."""

    def __init__(self, pieces: Iterable[bytes], /) -> None:
        """Takes only as many pieces as needed."""
        self.read_bytes = 0
        self.trouble: str | None = None
        """What was omitted, if anything was."""
        self.has_end = False
        """Whether the last piece ends with the end tag of a root, even if other elements are still open."""
        self.unknown_references = 0
        """References that were left as they are, of which the parser makes nodes; or a few more."""
        self._pieces = pieces
        self._entities = Entities(b"")
        self._expanded_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        """Replace references of HTML and the DTD by those of XML, and each other `&` by `&amp;`; otherwise a parser
        would look for the end of the reference up to the end of the document. It would stop at a `<` that begins no
        markup, and at a comment that ends with `--->`, so the former becomes `&lt;`, and comments are left out."""
        held = b""
        has_root = False
        end_mark = b""  # of the CDATA section or comment that is open
        for piece in chain(self._from_root(), (b"",)):
            self.read_bytes += len(piece)
            text = held + piece
            torn = _TORN.search(text, max(0, len(text) - _MAX_TORN_BYTES)) if piece else None
            held = text[torn.start() :] if torn else b""
            text = text[: torn.start()] if torn else text
            if not has_root and _STRAY.match(text):
                if piece and len(text) <= _MAX_TORN_TAG_BYTES:
                    held = text + held
                    continue
                text = _ROOT_TAG.sub(rb"\1>", text, count=1)
            has_root = True
            output: list[bytes] = []
            position = 0
            while position < len(text):
                if end_mark:
                    at = text.find(end_mark, position)
                    end = len(text) if at < 0 else at + len(end_mark)
                    if end_mark == _CDATA_END:
                        output.append(text[position:end])
                    end_mark = end_mark if at < 0 else b""
                    position = end
                    continue
                opening = _OPENING.search(text, position)
                if opening is None:
                    repaired, torn_tag = _repair_end(text[position:], is_last=not piece)
                    output.append(self._replace_references(repaired))
                    held = torn_tag + held
                    break
                before = _without_prolog(text[position : opening.start()])
                output.append(self._replace_references(_STRAY.sub(_replace_stray, before)))
                if opening[0] == b"<!--":
                    # `<!-->` is a complete comment, as in HTML.
                    end_mark, position = _COMMENT_END, opening.end() - 2
                else:
                    output.append(opening[0])
                    end_mark, position = _CDATA_END, opening.end()
            repaired = b"".join(output)
            if repaired:
                self.has_end = _ROOT_END.search(repaired, max(0, len(repaired) - _MAX_TRAILER_BYTES)) is not None
            yield repaired

    def _from_root(self) -> Iterator[bytes]:
        """The document from its root on, in pieces of limited size."""
        head = b""
        has_begun = False
        for input_piece in self._pieces:
            piece, start = input_piece, 0
            if not has_begun:
                piece = head + input_piece
                root = find_root(piece[:MAX_PROLOG_BYTES])
                if root is None or root.name not in READABLE:
                    if len(piece) >= MAX_PROLOG_BYTES:
                        return
                    head = piece
                    continue
                has_begun = True
                start = root.at
                self._entities = Entities(root.subset)
            for at in range(start, len(piece), _CHUNK_BYTES):
                yield piece[at : at + _CHUNK_BYTES]

    def _replace_references(self, text: bytes) -> bytes:
        return _OTHER_AMPERSAND.sub(self._replace_reference, text) if b"&" in text else text

    def _replace_reference(self, found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return b"&amp;"
        replacement = self._known(found[1])
        self.unknown_references += replacement is None
        return found[0] if replacement is None else replacement

    def _known(self, name: bytes) -> bytes | None:
        if name in self._entities:
            expansion = self._entities.expand(name)
            self.trouble = self.trouble or self._entities.trouble
            if expansion is None:
                return None
            self._expanded_bytes += len(expansion)
            if self._expanded_bytes > _GROWTH * self.read_bytes + _GROWTH_BYTES:
                self.trouble = "its entities expand to many times its size; the rest is not read"
                return None
            self.unknown_references += expansion.count(b"&")
            return expansion
        characters = html5.get(f"{name.decode('ascii')};")
        return None if characters is None else "".join(f"&#{ord(char)};" for char in characters).encode("ascii")


def _without_prolog(text: bytes) -> bytes:
    return _NEXT_PROLOG.sub(b"", text) if b"<?xml" in text or b"<!DOCTYPE" in text else text


def _repair_end(piece: bytes, *, is_last: bool) -> tuple[bytes, bytes]:
    """The end of a piece, repaired up to a tag that may go on in the next one; and the rest, as it is."""
    text = _without_prolog(piece)
    torn_from = len(text)
    may_be_torn_from = torn_from if is_last else torn_from - _MAX_TORN_TAG_BYTES

    def replace(found: re.Match[bytes]) -> bytes:
        nonlocal torn_from
        at = found.start()
        if may_be_torn_from <= at < torn_from and _UNFINISHED_TAG.match(text, at):
            torn_from = at
        # A longer tag may go on too.
        return _replace_stray(found) if at < torn_from and _STRAY_IN_PIECE.match(text, at) else found[0]

    repaired = _STRAY.sub(replace, text)
    end = len(repaired) - (len(text) - torn_from)
    return repaired[:end], repaired[end:]


def _replace_stray(found: re.Match[bytes]) -> bytes:
    return b"&lt;" if found[1] is None else b"%b>" % found[0]
