"""How `onceover daemon` runs a crawl."""

from typing import Annotated

import msgspec

from config.schema.kinds import Text, between, meaning


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """How `onceover daemon` runs this crawl. Other commands ignore it."""

    schedule: Annotated[
        Text | None,
        meaning(
            'When the crawl begins anew, in the form of cron: "0 3 * * 1" is each Monday at three. Each run has a '
            "directory of its own in crawl.directory, named by the time at which it begins. Unset means one run, which "
            "begins at once."
        ),
    ] = None
    time_zone: Annotated[Text, meaning('Time zone of the schedule, as "Europe/Vienna".')] = "UTC"
    keep_runs: Annotated[
        Annotated[int, between(1, 10_000, "runs")] | None,
        meaning("Number of finished runs of the schedule to keep; older ones are deleted. Unset means all of them."),
    ] = None
    max_memory_bytes: Annotated[
        Annotated[int, between(1_000_000, 10**15, "bytes")] | None,
        meaning(
            "Memory of all processes of the crawl. If they take more, the daemon lets the crawl finish what is in "
            "flight, and restarts it. Unset means no limit."
        ),
    ] = None
    max_open_files: Annotated[
        Annotated[int, between(16, 10**9, "files")] | None,
        meaning(
            "Open files and connections of all processes of the crawl. If they have more, the daemon restarts the "
            "crawl. Unset means no limit."
        ),
    ] = None
