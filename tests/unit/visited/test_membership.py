"""That a crawl becomes one of those who share its visited set."""

from pathlib import Path
from typing import Any, cast

import pytest

from crawler.disk.directory import CrawlDirectory
from crawler.wiring.sharing import membership
from visited import Member, SharedSet


class MembersSet(SharedSet):
    def __init__(self) -> None:
        self.entered: list[str] = []

    async def enter(self, member: Member, /) -> None:
        self.entered.append(member.id)

    async def leave(self) -> None:
        pass


async def become_member(visited: MembersSet, directory: Path) -> None:
    async with membership(visited, cast("Any", None), CrawlDirectory(directory), None):
        pass


@pytest.mark.parametrize("damage", [None, b"\xff"])
async def test_a_member_keeps_its_id_unless_the_file_is_gone_or_damaged(tmp_path: Path, damage: bytes | None) -> None:
    visited = MembersSet()  # type: ignore[abstract]
    file = tmp_path / "visited" / "member"
    await become_member(visited, tmp_path)
    await become_member(visited, tmp_path)
    file.unlink()
    if damage is not None:
        file.write_bytes(damage)
    await become_member(visited, tmp_path)
    first, second, third = visited.entered
    assert first == second != third == file.read_text(encoding="ascii")
