"""Runs a crawl in parts: one process for each part, and a supervisor that starts and watches them.

The supervisor holds the lock of the crawl's directory. It starts each part by exec, with one end of a *line*
(`crawler.parts.line`) as its only tie. A part is a whole crawl, with a directory and a lock of its own. It does the
work; the supervisor fetches nothing and stores nothing.

What ends what:

- The coordinator finds out when the crawl is complete (`coordination.ending`), and tells the parts.
- A signal, a command or a limit: the supervisor tells all parts to finish what is in flight, or to drop it.
- A part that dies is started again, later each time (`keeping.Restarts`). A part that says why it can't go on, or has
  died too often, ends the crawl: the others finish what is in flight.
- A supervisor that dies, by `kill -9` too, ends all lines. Each part then finishes what is in flight, and exits within
  `GOODBYE_S`. The next supervisor waits for the locks of the parts before it begins.

Ctrl-C in a terminal reaches all processes of its foreground group. Parts ignore it, because the supervisor passes it
on. SIGTERM lets a part finish; if nobody has stopped the crawl, the supervisor starts it again.

    preparing     locks the directory of a crawl, makes its parts, waits for the parts of a supervisor that has died
    supervisor    runs the processes of all parts, and the coordinator
    keeping       starts and restarts the processes of a part
    process       a process of a part, and the line to it
    coordination  the room of the coordinator, which decides for the crawl as a whole
    cluster       the room for one crawl on many machines
    operating     answers commands for the whole crawl
    settings      changes the configuration of all parts, or of none
    part          what the process of a part does
    part_answers  what a part answers: whether the crawl is complete, and whether it can take over a configuration
"""
