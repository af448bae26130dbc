"""An export, as it is stored and told."""

from typing import Annotated, Final, Literal

import msgspec

ExportState = Literal["waiting", "running", "complete", "failed", "cancelled"]
ENDED: Final = frozenset[ExportState]({"complete", "failed", "cancelled"})


class ExportBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to export, and in which form."""

    format: Literal["parquet", "csv", "jsonl", "wacz"]
    table: Literal["pages", "links"] = "pages"
    partition_by: Annotated[tuple[Literal["crawl", "subset"], ...], msgspec.Meta(max_length=2)] = ()
    """For the table of pages."""
    rows_per_file: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 1_000_000
    """For tables."""
    locations: bool = True
    """For the table of pages: tell where the archive has each page."""
    incomplete: bool = False
    """For wacz: leave out what revisit records refer to and nobody has."""


class StoredExport(msgspec.Struct, frozen=True, kw_only=True):
    """An export, as its folder has it."""

    id: str
    crawl: str
    directory: str
    """The directory of the crawl."""
    what: ExportBody
    state: ExportState
    asked_at: str
    begun_at: str | None
    ended_at: str | None
    message: str | None
    """Why it has failed, or what it says at its end."""


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an export that is complete."""

    name: str
    bytes: int


class ExportForm(StoredExport, frozen=True, kw_only=True):
    """An export."""

    share: float | None
    """How much is done: 0 to 1; null if nobody knows yet."""
    rows: int | None
    """Rows of the complete files; null for wacz."""
    files: tuple[ExportedFile, ...]
    """The complete files, which can be downloaded."""


class ExportList(msgspec.Struct, frozen=True, kw_only=True):
    """The exports of a crawl, the newest first."""

    exports: tuple[ExportForm, ...]


class FileQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of an export."""

    file: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    """Its name, as the export lists it."""
