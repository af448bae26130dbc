"""The group of commands."""

import click

from crawler.cli.cluster.adopting import adopt
from crawler.cli.cluster.making import init
from crawler.cli.cluster.showing import status
from crawler.cli.cluster.stopping import stop


@click.group()
def cluster() -> None:
    """Make, watch and stop a crawl on many machines. These meet at a server of Redis."""


for _command in (init, status, stop, adopt):
    cluster.add_command(_command)
