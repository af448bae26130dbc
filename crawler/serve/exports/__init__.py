"""Exports that somebody has asked a daemon for: it makes them, keeps them, and gives them out.

    forms     an export, as it is stored and told
    stored    the folders of exports, `DIR/daemon/exports/CRAWL/ID/`
    exporter  makes them, one at a time, by the command `onceover export`

What an export is and how far it is stands on the disk. One that a daemon leaves unfinished goes on with the next.
"""
