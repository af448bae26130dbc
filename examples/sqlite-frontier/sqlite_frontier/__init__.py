"""A frontier in one file: SQLite.

Each change is one transaction. All queues are in memory, in the schedule of `frontier.queues`, which keeps the pace of
hosts, addresses and domains; the URLs are in the file. A write that fails ends the crawl, and the next start goes on
with what was committed.

What it lacks: queues are served in turns alone, an operator can't retire them or see why each waits, URLs can't be
renamed by other rules, a crawl can't be in parts, and damaged files can't be repaired. With `durability = "power"`, the
event loop waits for the disk at each change.

    database   the file: its tables, transactions and errors
    served     the queues that are being served
    state      what commands ask of a crawl that does not run, and of one that does
    frontier   what the crawl asks
"""

from frontier.descriptor import Descriptor, Upkeep
from sqlite_frontier.state import Options, SqliteState, check

DESCRIPTOR = Descriptor(
    name="sqlite",
    make=SqliteState,
    options=Options,
    needs=frozenset({"directory"}),
    can_be_part=False,
    upkeep=Upkeep(check=check),
)
