"""Makes exports, one at a time, by the command `onceover export` in a process of its own."""

import asyncio
import fcntl
import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.files.content import last_lines
from crawler.serve.exports.forms import ENDED, ExportBody, ExportForm, ExportState, StoredExport
from crawler.serve.exports.stored import ExportFolders
from crawler.serve.life.summary import moment_text
from crawler.serve.process import command, environment

log = logging.getLogger(__name__)

_FREE_AGAIN_S: Final = 1.0
"""A daemon that was killed may have left a process that still writes the export. Nothing tells its end."""
_AGAIN_S: Final = 10.0


class Exporter:
    """Makes the exports that are asked for, as long as `run` runs. An export that is cut off goes on with the next
    `run`."""

    def __init__(self, folder: Path) -> None:
        self.folders = ExportFolders(folder)
        self._wanted = asyncio.Event()
        self._running: StoredExport | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._is_cancelled = False
        """Whether the running one is."""
        self._changing = asyncio.Lock()
        """Held while the state of an export is read and changed."""

    async def run(self) -> None:
        """Make exports until it is cancelled."""
        while True:
            self._wanted.clear()
            waiting: list[StoredExport] = []
            errors = []
            try:
                waiting = await asyncio.to_thread(self.folders.unfinished)
            except OSError as error:
                errors.append(error)
            for export in waiting:
                try:
                    await self._make(export)
                except OSError as error:  # the folder of one may be damaged; others go on
                    errors.append(error)
            if errors:
                log.warning("exports can't be made now: %s", errors[0])
                await asyncio.sleep(_AGAIN_S)
            elif not waiting:
                await self._wanted.wait()

    async def ask_for(self, crawl: str, directory: str, what: ExportBody) -> ExportForm:
        """Ask for an export. Raises `TooMany` and `OSError`."""
        export = await asyncio.to_thread(self.folders.add, crawl, directory, what)
        self._wanted.set()
        return await self.tell(export)

    async def tell(self, export: StoredExport) -> ExportForm:
        return await asyncio.to_thread(self.folders.form, export)

    async def find(self, crawl: str, name: str) -> StoredExport | None:
        return await asyncio.to_thread(self.folders.find, crawl, name)

    async def cancel(self, export: StoredExport) -> StoredExport:
        """Cancel an export that has not ended. Its complete files stay. Raises `OSError`."""
        async with self._changing:
            found = await self.find(export.crawl, export.id)
            if found is None or found.state in ENDED:
                return export if found is None else found
            running = self._running
            if running is not None and (running.crawl, running.id) == (found.crawl, found.id):
                self._is_cancelled = True
                self._kill()
            return await self._end(found, "cancelled", None)

    async def _make(self, export: StoredExport) -> None:
        async with self._changing:
            found = await self.find(export.crawl, export.id)
            if found is None or found.state in ENDED:
                return  # cancelled or deleted meanwhile
            begun_at = found.begun_at or moment_text(time.time())
            export = msgspec.structs.replace(found, state="running", begun_at=begun_at)
            await asyncio.to_thread(self.folders.store, export)
            self._running, self._is_cancelled = export, False
        lock = self.folders.lock(export)
        try:
            await self._take(lock)
            code = None if self._is_cancelled else await self._run_command(export, lock)
            said = await asyncio.to_thread(last_lines, self.folders.of(export) / "messages", 3)
            message = "\n".join(said) or None
            async with self._changing:
                if not self._is_cancelled:
                    state: ExportState = "complete" if code == 0 else "failed"
                    await self._end(export, state, message or (None if code == 0 else f"the command ended with {code}"))
        finally:
            os.close(lock)
            self._running = None

    async def _take(self, lock: int) -> None:
        while not self._is_cancelled:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await asyncio.sleep(_FREE_AGAIN_S)
            else:
                return

    async def _run_command(self, export: StoredExport, lock: int) -> int:
        """The process has the lock as long as it lives, also if it outlives this daemon."""
        with (self.folders.of(export) / "messages").open("wb") as messages:
            self._process = await asyncio.create_subprocess_exec(
                *command("export", export.directory, *self._options(export)),
                env=environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                pass_fds=(lock,),
            )
        try:
            if self._is_cancelled:  # while the process began
                self._kill()
            return await self._process.wait()
        finally:
            if self._process.returncode is None:
                self._kill()
                await asyncio.shield(self._process.wait())
            self._process = None

    def _options(self, export: StoredExport) -> list[str]:
        what, to = export.what, self.folders.files_of(export)
        if what.format == "wacz":
            options = ["--format", "wacz", "--to", str(to / f"{export.crawl}.wacz"), "--overwrite"]
            return [*options, *(["--incomplete"] if what.incomplete else [])]
        return [
            *("--format", what.format, "--to", str(to), "--table", what.table),
            *("--rows-per-file", str(what.rows_per_file)),
            *(["--partition-by", ",".join(what.partition_by)] if what.partition_by else []),
            "--locations" if what.locations else "--no-locations",
        ]

    async def _end(self, export: StoredExport, state: ExportState, message: str | None) -> StoredExport:
        ended_at = moment_text(time.time())
        ended = msgspec.structs.replace(export, state=state, ended_at=ended_at, message=message)
        await asyncio.to_thread(self.folders.store, ended)
        log.info("export %s of %s: %s", export.id, export.crawl, state)
        return ended

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            if self._process is not None:
                self._process.terminate()
