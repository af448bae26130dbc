"""The daemon: runs a folder of configurations, each of them a crawl, for months.

Each file `NAME.toml` in the folder is a crawl. The daemon runs it as a person would, by `onceover crawl NAME.toml` in
that folder, in a process group of its own. So the daemon need not know whether a crawl has one process or several, nor
a crawl who has started it. If the daemon dies, its crawls go on; the next daemon finds them by the sockets and locks in
their directories.

    api/        lets programs ask over HTTP
    page/       what people see in a browser
    measure/    keeps what crawls did over time
    exports/    exports that somebody has asked for
    news/       tells the operator what becomes of crawls, by a program
    life/       decides what becomes of a crawl; pure
    folder      reads the configurations
    editing     changes settings in a configuration
    records     what outlasts the daemon: what each crawl was told, why it rests, its history
    process     starts processes, holds them, tells them to end
    inspection  asks running crawls, and looks into the directories of others
    asking      asks crawls whatever programs want to know, whether they run or not
    reporting   makes reports of crawls
    keeper      keeps one crawl: does what `life` decides
    machine     what crawls take, and what the machine has left; `machine_limits` holds them to it
    old_runs    deletes old runs of a schedule, and tells if all are gone
    reloading   what has changed when the folder was read again
    daemon      keeps all crawls: signals, reloads, limits
    notify      tells systemd
    logs        tells people

The lock of a crawl's directory decides who runs it, so no crawl is ever run twice: a process that does not get the lock
ends with exit code 5, and the daemon then looks who has it.
"""
