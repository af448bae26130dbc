"""The process that reads PDF documents: `python -m crawler.read.pdf.worker`.

It reads orders from stdin and writes answers to stdout, each with its length in front (`frames`), until stdin ends.
"""

import logging
import resource
import signal
import sys
import time
from typing import Final

import msgspec

from crawler.page import Link
from crawler.read.options import PdfContent
from crawler.read.pdf.document import read_pdf
from crawler.read.pdf.frames import LENGTH_BYTES, Answer, Order, encode

_PROCESSOR_TIMES: Final = 4
"""Processor time that a document may take, as a multiple of the time after which no page is begun."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the crawl, which may still wait for an answer
    logging.disable(logging.CRITICAL)  # pypdf says much about broken documents
    orders = sys.stdin.buffer
    while len(length := orders.read(LENGTH_BYTES)) == LENGTH_BYTES:
        answer = _answer(msgspec.msgpack.decode(orders.read(int.from_bytes(length)), type=Order))
        sys.stdout.buffer.write(encode(answer))
        sys.stdout.buffer.flush()


def _answer(order: Order) -> Answer:
    resource.setrlimit(resource.RLIMIT_AS, (order.memory_bytes, order.memory_bytes))
    # If the crawl is killed meanwhile, nobody else ends a process that never finishes its document.
    processor_s = int(time.process_time() + _PROCESSOR_TIMES * order.time_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (processor_s, resource.RLIM_INFINITY))
    try:
        until = time.monotonic() + order.time_s
        content = read_pdf(order.body, with_links=order.with_links, text_bytes=order.text_bytes, until=until)
    except MemoryError:
        return Answer(error=f"reading it takes more memory than {order.memory_bytes:,} bytes", is_harmed=True)
    except Exception as error:  # noqa: BLE001 - a document may break its reader in unforeseen ways
        return Answer(error=f"{type(error).__name__}: {error}"[:1000])
    return Answer(content=_storable(content))


def _storable(content: PdfContent) -> PdfContent:
    """Without lone surrogates, which can't be sent."""
    return PdfContent(
        links=[Link(_clean(link.href), link.kind) for link in content.links],
        title=None if content.title is None else _clean(content.title),
        author=None if content.author is None else _clean(content.author),
        text=None if content.text is None else _clean(content.text),
        pages=content.pages,
        pages_read=content.pages_read,
    )


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


if __name__ == "__main__":
    main()
