"""The facts about a simulated page, which a test compares with what a crawler found."""

from enum import StrEnum

import msgspec

from crawler.simweb.geography import Obstacle
from crawler.simweb.text import CHINESE, ENGLISH, FRENCH, GERMAN, JAPANESE, KOREAN, RUSSIAN, Language


class Encoding(msgspec.Struct, frozen=True):
    """A character encoding with its names on the web and in Python."""

    label: str
    codec: str
    language: Language


UTF_8 = Encoding("utf-8", "utf-8", ENGLISH)
UTF_8_WITH_BOM = Encoding("utf-8", "utf-8-sig", FRENCH)
LEGACY_ENCODINGS = (
    Encoding("windows-1252", "cp1252", FRENCH),
    Encoding("iso-8859-1", "latin-1", GERMAN),
    Encoding("koi8-r", "koi8_r", RUSSIAN),
    Encoding("windows-1251", "cp1251", RUSSIAN),
    Encoding("shift_jis", "shift_jis", JAPANESE),
    Encoding("euc-jp", "euc_jp", JAPANESE),
    Encoding("gb2312", "gb2312", CHINESE),
    Encoding("euc-kr", "euc_kr", KOREAN),
    UTF_8_WITH_BOM,
)
CONTENT_CODINGS = ("br", "gzip", "deflate")


class Declared(StrEnum):
    """Where a page declares its encoding."""

    HEADER = "header"
    META = "meta"
    BOM = "bom"
    NOWHERE = "nowhere"


class PageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one page."""

    source: int
    """The page whose body this one has: its own number, unless it is a duplicate."""
    edition: int | None
    """Its own number, in some words of its own, if it is a near duplicate."""
    obstacle: Obstacle | None
    title: str
    description: str
    author: str
    encoding: Encoding
    declared: Declared
    broken: bool
    content_coding: str | None
    """For clients that accept it."""
    chunked: bool
    size_bytes: int
    """The approximate size."""
    noise: int
    """The seed for the random choices of the body."""
    changed_at: float | None = None
    """When it changed last, in seconds since 1970; None if it never has."""
    missing: bool = False
    """Whether it is missing for a while."""
