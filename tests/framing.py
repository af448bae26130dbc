"""Responses that bend the rules of HTTP/1.1 framing, and what is made of them.

`python -m tests.framing` asks curl, Chromium and Firefox for each, as far as they are installed, and onceover, and
prints a table in Markdown. The connection stays open behind each response unless its name says `closed`, so whoever
reads the whole body knew where it ends.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from crawler.page import Page, Request
from crawler.testing.fetch.raw_server import head, page
from tests.fetchers import http_fetcher

BODY = b"hello"
_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = b"Transfer-Encoding: chunked"
_CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"

CASES: dict[str, bytes] = {
    "Content-Length twice, the same": head(b"Content-Length: 5", b"Content-Length: 5") + BODY,
    "`Content-Length: 5, 5`": head(b"Content-Length: 5, 5") + BODY,
    "Content-Length twice, 5 and 3": head(b"Content-Length: 5", b"Content-Length: 3") + BODY,
    "`Content-Length: +5`": head(b"Content-Length: +5") + BODY,
    "an empty Content-Length, closed": head(b"Content-Length:") + BODY,
    "`Content-Length: undefined`, closed": head(b"Content-Length: undefined") + BODY,
    "`Content-Length: 5.0`, closed": head(b"Content-Length: 5.0") + BODY,
    "`Content-Length: -5`, closed": head(b"Content-Length: -5") + BODY,
    "a Content-Length of 20 digits, closed": head(b"Content-Length: " + b"9" * 20) + BODY,
    "Content-Length and chunks": head(b"Content-Length: 3", _CHUNKED) + _CHUNKS,
    "line feeds alone end chunk lines": head(_CHUNKED) + b"5\nhello\n0\n\n",
    "line feeds alone end chunk data": head(_CHUNKED) + b"5\r\nhello\n0\r\n\r\n",
    "line feeds alone end header lines": b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    "no empty line behind the last chunk, closed": head(_CHUNKED) + b"5\r\nhello\r\n0\r\n",
    "spaces behind a chunk size": head(_CHUNKED) + b"5  \r\nhello\r\n0\r\n\r\n",
    "spaces before and behind the semicolon of a chunk extension": head(_CHUNKED) + b"5 ; a=b\r\nhello\r\n0\r\n\r\n",
    "a chunk extension without name": head(_CHUNKED) + b"5;\r\nhello\r\n0\r\n\r\n",
    "`0x5` as a chunk size": head(_CHUNKED) + b"0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk longer than it says": head(_CHUNKED) + b"3\r\nhello\r\n0\r\n\r\n",
    "`Transfer-Encoding: chunked` twice": head(_CHUNKED, _CHUNKED) + _CHUNKS,
    "a tab behind `chunked`": head(_CHUNKED + b"\t") + _CHUNKS,
    "`Transfer-Encoding: chunked,`": head(_CHUNKED + b",") + _CHUNKS,
    "`Transfer-Encoding: identity`": head(b"Transfer-Encoding: identity", b"Content-Length: 5") + BODY,
    "`Transfer-Encoding: binary` and a length": head(b"Transfer-Encoding: binary", b"Content-Length: 5") + BODY,
    "`HTTP/1.2`": head(b"Content-Length: 5", version=b"HTTP/1.2") + BODY,
    "`HTTP/2.0` as text": head(b"Content-Length: 5", version=b"HTTP/2.0") + BODY,
    "`HTTP/2`, without a minor version": head(b"Content-Length: 5", version=b"HTTP/2") + BODY,
    "`http/1.1` in small letters": head(b"Content-Length: 5", version=b"http/1.1") + BODY,
    "no reason phrase, no space": head(b"Content-Length: 5", status=b"200") + BODY,
    "two spaces before the status": head(b"Content-Length: 5", status=b" 200 OK") + BODY,
    "an empty line before the status line": b"\r\n" + page(BODY),
    "four bytes before the status line": b"0\r\n\r" + page(BODY),
    "five bytes before the status line": b"abcde" + page(BODY),
    "a header line without colon": page(BODY, b"no colon here"),
    "a space before the colon of a header": page(BODY, b"X-Any : 1"),
    "a space before the colon of Content-Length": head(b"Content-Length : 5") + BODY,
    "a header without name": page(BODY, b": value"),
    "a space in the name of a header": page(BODY, b"X Any: 1"),
    "the name of a header in UTF-8": page(BODY, "X-Größe: 1".encode()),
    "a space before the first header": _OK + b" X-Any: 1\r\nContent-Length: 5\r\n\r\n" + BODY,
    "a folded header": page(BODY, b"X-Any: 1\r\n 2"),
    "a header of 90 KB": page(BODY, b"X-Any: " + b"x" * 90_000),
    "4,000 header lines": page(BODY, *[b"X-%d: 1" % number for number in range(4000)]),
    "NUL in a header": page(BODY, b"X-Any: a\0b"),
    "a bare CR in a header": page(BODY, b"X-Any: a\rb"),
    "a bare CR in the status line": head(b"Content-Length: 5", status=b"200 O\rK") + BODY,
    "a folded Content-Length": head(b"Content-Length: 5\r\n\t") + BODY,
    "no status line, closed": b"<p>hello",
}


class Answers(dict[int, str]):
    """What came of each case, by its number."""

    def __init__(self) -> None:
        super().__init__()
        self.complete = asyncio.Event()

    def tell(self, number: int, text: str) -> None:
        self[number] = text
        if len(self) == len(CASES):
            self.complete.set()


Told = dict[str, Answers]
"""By who asked."""


class Reader:
    """What aiohttp's parser wants to know of a connection."""

    def pause_reading(self) -> None: ...

    def resume_reading(self, resume_parser: bool = True) -> None: ...


@asynccontextmanager
async def served() -> AsyncIterator[tuple[str, Told]]:
    """Each case under its number, and a page whose script asks for all and tells `/told` what it got: its URL, and what
    was told."""
    told: Told = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            request = await reader.readuntil(b"\r\n\r\n")
            where = urlsplit(request.split(b" ", 2)[1].decode())
            query = parse_qs(where.query, keep_blank_values=True)
            if where.path.startswith("/case/"):
                name, response = list(CASES.items())[int(where.path.rpartition("/")[2])]
                writer.write(response)
                if not name.endswith("closed"):
                    async with asyncio.timeout(5):
                        await reader.read(1)  # another request, which is not answered, or the end
            else:
                if where.path == "/told":
                    told.setdefault(query["who"][0], Answers()).tell(int(query["case"][0]), query["text"][0])
                asks = _ASKS if where.path == "/asks" else b""
                writer.write(page(asks, b"Content-Type: text/html", b"Connection: close"))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", told


_ASKS = b"""<!doctype html><title>asks</title><script>
(async () => {
  const who = new URLSearchParams(location.search).get("who");
  for (let number = 0; number < %d; number++) {
    let text;
    const patience = new AbortController();
    const clock = setTimeout(() => patience.abort(), 1500);
    try {
      const answer = await fetch(`/case/${number}?${who}`, {signal: patience.signal, cache: "no-store"});
      text = await answer.text();
    } catch (error) { text = `failed: ${error.name}`; }
    clearTimeout(clock);
    await fetch(`/told?who=${who}&case=${number}&text=${encodeURIComponent(text)}`);
  }
})();
</script>""" % len(CASES)


async def by_onceover(url: str) -> dict[int, str]:
    answers = {}
    for number in range(len(CASES)):
        fetcher = http_fetcher(allow_private=True, timeout_s=30.0, window_s=1.0, head_timeout_s=1.0)
        try:
            answer = await fetcher.fetch(Request(url=f"{url}/case/{number}"))
        finally:
            await fetcher.aclose()
        match answer:
            case Page(truncated=None):
                answers[number] = answer.body.decode("latin-1")
            case _:
                answers[number] = "failed"
    return answers


async def by_curl(url: str) -> dict[int, str]:
    answers = {}
    for number in range(len(CASES)):
        process = await asyncio.create_subprocess_exec(
            "curl", "-s", "-m", "2", f"{url}/case/{number}", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        answers[number] = out.decode("latin-1") if process.returncode == 0 else "failed"
    return answers


async def by_browser(told: Told, who: str, *command: str | Path) -> dict[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    answers = told.setdefault(who, Answers())
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(answers.complete.wait(), 180)
    finally:
        process.terminate()
        await process.wait()
    return answers


async def version(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return next(word for word in out.decode().split() if word[0].isdigit())


async def main() -> None:
    columns: dict[str, dict[int, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with served() as (url, told):
            chromium = [
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                f"--user-data-dir={folder}/chromium",
            ]
            firefox = ["firefox-esr", "--headless", "--no-remote", "--profile", f"{folder}/firefox"]
            Path(folder, "firefox").mkdir()
            askers: dict[str, Callable[[], Awaitable[dict[int, str]]]] = {
                "chromium": lambda: by_browser(told, "chromium", *chromium, f"{url}/asks?who=chromium"),
                "firefox-esr": lambda: by_browser(told, "firefox", *firefox, f"{url}/asks?who=firefox"),
                "curl": lambda: by_curl(url),
            }
            for name, ask in askers.items():
                if shutil.which(name) is not None:
                    columns[f"{name} {await version(name, '--version')}"] = await ask()
            columns["onceover"] = await by_onceover(url)
    sys.stdout.write("| what comes | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|\n")
    for number, name in enumerate(CASES):
        cells = [_cell(column.get(number, "?")) for column in columns.values()]
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")


def _cell(text: str) -> str:
    if text.startswith("failed") or text == "?":
        return "—" if text != "?" else "?"
    return "yes" if text in ("hello", "<p>hello") else f"`{text}`" if text else "nothing"


if __name__ == "__main__":
    asyncio.run(main())
