"""What an operator does with a crawl, whether it runs or not.

`answers` carries out each request of `crawler.control` by the `actions`. It acts on an `OperatedCrawl` (`target`). This
is either a running crawl, which `running` connects with the socket, or one that `stored` opens from its directory. So
both reply the same, and commands print the same words.

    actions            what is done for each request
    parts              the same for a crawl in parts, seen as one crawl
    upkeep             checks, repairs and divides crawls that do not run
    settings           changes the settings of a crawl
    cluster            a crawl on many machines
    target             what an operator acts on
    refused            why a request is not carried out
    answers            from a request to its reply
    running            answers the socket of a running crawl
    report, diff       sum up what a crawl has found, and what has changed between two
    course             keeps what was discovered and finished over time, in a file
    begun, missing     whether a crawl has ever begun, and which of its parts are not here
    opening, stored    open a crawl that does not run
    reach              finds out whether a crawl runs, and asks it; for commands
    reach_stored       asks one that does not run; it loads all of a crawl, so it is loaded when it is needed
    reach_daemon       asks one of a daemon, through the API

Commands and whatever runs crawls use this room. It knows `wiring`, which opens states.
"""
