"""The examples of README and docs: what stands in their blocks of code."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    path.relative_to(REPOSITORY).as_posix()
    for path in (REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").glob("*.md")))
]


class Block(msgspec.Struct, frozen=True):
    """A block of code."""

    page: str
    language: str
    text: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def shows_commands(self) -> bool:
        return self.language in ("", "console") and self.text.startswith(("$ ", "# "))


class Example(msgspec.Struct, frozen=True):
    """A command line, with the lines that the page shows below it."""

    command: str
    shown: list[str]


@cache
def blocks(page: str) -> list[Block]:
    """Fenced and indented ones, wherever they stand."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return [
        Block(page=page, language=token.info.strip(), text=token.content, line=token.map[0] + 1 if token.map else 0)
        for token in MarkdownIt("commonmark").enable("table").disable("inline").parse(text)
        if token.type in ("fence", "code_block")
    ]


def commands(block: Block) -> Iterator[Example]:
    command: str | None = None
    shown: list[str] = []
    for line in re.sub(r"\\\n\s*", " ", block.text).splitlines():
        if line.startswith(("$ ", "# ")):
            if command is not None:
                yield Example(command, shown)
            command, shown = line[2:], []
        else:
            shown.append(line)
    if command is not None:
        yield Example(command, shown)


def examples(page: str) -> Iterator[Example]:
    """All command lines of a page, in their order."""
    for block in blocks(page):
        if block.shows_commands:
            yield from commands(block)


def arguments_of(command: str) -> list[str] | None:
    """Of `onceover`; None for a command of another program."""
    if "onceover" not in command:
        return None
    words = shlex.split(re.split(r" [>|<] ", command)[0], comments=True)
    at = next((at for at, word in enumerate(words) if Path(word).name == "onceover"), None)
    return None if at is None or "eval" in words[:at] else words[at + 1 :]


def without_numbers(lines: list[str] | str) -> list[str]:
    """What is left when numbers, units and times may differ, and how many kinds of a thing were counted."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    text = re.sub(r"(\n {12}\b)", " ", text)  # the rest of a row of a summary
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\d+(?:[.,]\d+)*(?:e-?\d+)?%?", "N", text)
    text = re.sub(r"N (?:kB|MB|B|s|ms|min N s)\b", "N", text)
    # Which URLs of a crawl that was stopped were excluded depends on which came first.
    text = re.sub(r"; N not archived \(no answer, or left out\)", "", text)
    text = re.sub(r"(?:[\w-]+: N)(?:, [\w-]+: N)*", "COUNTS", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def is_in(expected: list[str], found: list[str]) -> bool:
    """Whether what is shown stands in what is printed, line by line, with others between."""
    rest = iter(found)
    return all(line in rest for line in expected)
