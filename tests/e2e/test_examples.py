"""What README and docs show is what happens: each command line is understood, and where a page shows what a command
prints, it prints that, numbers apart."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from crawler.cli import onceover as command_line
from tests.e2e.crawling import ONCEOVER, environment
from tests.patience import PATIENCE_S

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]

OF_A_CRAWL = "a crawl of a web that is not here"
NOT_RUN = {
    "crawl": OF_A_CRAWL,
    "compare": "the machine and its URLs decide what it prints",
    "simweb": "it serves until it is stopped",
}
SHOWN = REPOSITORY / "docs" / "commands.md"


def examples(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The command lines of a page, with the lines that it shows below each."""
    text = page.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language not in ("", "console"):
            continue
        command: str | None = None
        shown: list[str] = []
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            if line.startswith("$ "):
                if command is not None:
                    yield command, shown
                command, shown = line[2:], []
            elif command is not None:
                shown.append(line)
        if command is not None:
            yield command, shown


def arguments_of(command: str) -> list[str] | None:
    """Of `onceover`; None for a command of another program."""
    if "onceover" not in command:
        return None
    words = shlex.split(re.split(r" [>|<] ", command)[0], comments=True)
    at = next((at for at, word in enumerate(words) if Path(word).name == "onceover"), None)
    return None if at is None or "eval" in words[:at] else words[at + 1 :]


def without_numbers(lines: list[str] | str) -> list[str]:
    """What is left when numbers, units and times may differ."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\d[\d,.]*(?:e-?\d+)?%?", "N", text)
    text = re.sub(r"N (?:kB|MB|B|s|ms|min N s)\b", "N", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_command_line_of_a_page_is_understood(page: Path) -> None:
    for command, _ in examples(page):
        if (words := arguments_of(command)) is not None:
            # All options are parsed before --help is obeyed.
            result = CliRunner().invoke(command_line, [*words, "--help"])
            assert result.exit_code == 0, (command, result.output)


def test_there_are_examples_to_check() -> None:
    found = [words for page in PAGES for command, _ in examples(page) if (words := arguments_of(command)) is not None]
    assert len(found) >= 45
    assert len([shown for command, shown in examples(SHOWN) if shown and arguments_of(command)]) >= 12


def ran(command: str, cwd: Path) -> str:
    """What a person sees in a terminal: both outputs, in their order."""
    line = command.replace(".venv/bin/onceover", "onceover")
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=cwd,
        env=environment(COLUMNS="80") | {"PATH": f"{ONCEOVER.parent}:{environment()['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout


def test_what_the_page_of_commands_shows_is_what_they_print(tmp_path: Path) -> None:
    """In their order, in one folder: `half` is the demo after 300 pages, as the page says."""
    ran("onceover demo --dir half --set limits.pages=300", tmp_path)
    ran("onceover demo --dir other --set limits.pages=1", tmp_path)
    seed = '[crawl]\nseeds = ["http://a.test/"]\n'
    wrong = []
    for command, shown in examples(SHOWN):
        words = arguments_of(command)
        if not words or not (shown or "half" in words) or (words[0] in NOT_RUN and "half" not in words):
            continue
        if "init mysite.toml" in command:
            (tmp_path / "mysite.toml").unlink(missing_ok=True)
        printed = ran(command, tmp_path)
        if "init mysite.toml" in command:
            (tmp_path / "mysite.toml").write_text(dedent(seed))
        expected, found = without_numbers(shown), without_numbers(printed)
        if expected != found[: len(expected)] and not (expected and is_shortened(expected, found)):
            wrong.append((command, expected, found))
    assert not wrong, "\n".join(
        f"{command}\n  shown: {shown}\n  prints: {printed}" for command, shown, printed in wrong
    )


def is_shortened(expected: list[str], found: list[str]) -> bool:
    """Whether what is shown stands in what is printed, line by line, with others between."""
    rest = iter(found)
    return all(line in rest for line in expected)
