"""What has changed when the folder was read again. Pure, but that it logs."""

import logging
from typing import Final

import msgspec

from config import Loaded, changes
from crawler.control.replies import Reconfigured, Refusal
from crawler.status import number_of

log = logging.getLogger(__name__)

_OWN_SECTION: Final = "daemon."


class ChangeForm(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl differs after the folder was read again."""

    name: str
    how: str
    """added, changed, broken, removed"""
    at_once: tuple[str, ...]
    """What holds at once, or is wrong."""
    at_next_start: tuple[str, ...]
    """What holds when the process of the crawl starts again."""


def changed_crawl(name: str, before: Loaded | None, after: Loaded, *, is_running: bool) -> ChangeForm:
    """How the configuration of a crawl has changed. All of it holds at once if no process runs the crawl."""
    lines = ["it can be used again"] if before is None else changes(before.config, after)
    lines = lines or ["its seeds have changed"]
    own = tuple(line for line in lines if line.startswith(_OWN_SECTION) or not is_running)
    return ChangeForm(
        name=name, how="changed", at_once=own, at_next_start=tuple(line for line in lines if line not in own)
    )


def tell(changed: ChangeForm, *, is_running: bool) -> None:
    """Log a change, but not what the keeper of the crawl logs: that a crawl is removed, or can't run."""
    if changed.how == "removed" or (changed.how == "broken" and not is_running):
        return
    lines = [f"{changed.name}: {changed.how}"]
    lines += [f"    {line}" for line in changed.at_once if changed.how != "added"]
    lines += [f"    {line}; this holds when the crawl starts again" for line in changed.at_next_start]
    level = logging.WARNING if changed.how == "broken" else logging.INFO
    log.log(level, "%s", "\n".join(lines), extra={"crawl": changed.name})


def with_answer(changed: ChangeForm, answer: Reconfigured | Refusal | None) -> ChangeForm:
    """The change, with what the running crawl says: what it has taken over at once."""
    if answer is None:
        return changed
    if isinstance(answer, Refusal):
        return msgspec.structs.replace(changed, at_once=(*changed.at_once, f"nothing else: {answer.message}"))
    theirs = [each for each in answer.changes if not each.key.startswith(_OWN_SECTION)]
    now = [each.text for each in theirs if each.holds == "now"]
    if answer.new_seeds:
        now.append(f"{number_of(answer.new_seeds, 'new seed is', 'new seeds are')} added")
    later = [
        each.text if each.reason is None else f"{each.text} ({each.reason})" for each in theirs if each.holds != "now"
    ]
    return msgspec.structs.replace(changed, at_once=(*changed.at_once, *now), at_next_start=tuple(later))
