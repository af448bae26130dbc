"""The command by which a crawl goes on."""

import shlex
from pathlib import Path

from crawler.disk.directory import DirectoryRefused
from crawler.disk.layout import ClusterPlace, read_layout


def how_to_go_on(path: Path) -> str:
    """For people."""
    try:
        layout = read_layout(path)
    except DirectoryRefused:
        layout = None  # the command that is named says why
    if layout is not None and layout.cluster is not None:
        return how_to_run_machine(path, layout.cluster)
    return f"onceover crawl --dir {shlex.quote(str(path))}"


def how_to_run_machine(path: Path, cluster: ClusterPlace) -> str:
    """The same for a machine that has parts of a crawl on many."""
    prefix = "" if cluster.prefix == "onceover" else f" --set exchange.prefix={shlex.quote(cluster.prefix)}"
    return f"onceover crawl --cluster {shlex.quote(cluster.url)}{prefix} --dir {shlex.quote(str(path))}"
