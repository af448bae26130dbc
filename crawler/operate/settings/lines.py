"""What has changed, for people."""

import logging

from crawler.control.replies import Reconfigured, Refusal
from crawler.status import number_of

log = logging.getLogger(__name__)


def log_reload(reply: Reconfigured | Refusal) -> None:
    if isinstance(reply, Refusal):
        log.error("the configuration can't be reloaded, and nothing was changed: %s", reply.message)
        return
    for line in change_lines(reply):
        log.warning("reload: %s", line)


def change_lines(changed: Reconfigured, /) -> list[str]:
    """A line for each change; one if there is none."""
    if not changed.changes and not changed.new_seeds:
        return ["nothing has changed"]
    lines = []
    for each in changed.changes:
        later = changed.running and each.holds == "restart"
        lines.append(f"{each.text}{f'. This holds from the next start, because {each.reason}' if later else ''}")
    if changed.new_seeds:
        lines.append(f"{number_of(changed.new_seeds, 'seed is', 'seeds are')} new")
    return lines
