"""onceover prune"""

from collections.abc import Iterator
from pathlib import Path

import click

from crawler.cli.operate.options import as_json, directory, note_elsewhere, show
from crawler.cli.options import age_of, size_of
from crawler.disk.layout import part_at
from crawler.operate.opening import stored_configuration
from crawler.operate.upkeep.places import lock_places
from crawler.operate.upkeep.pruning import PruneReport, plan_prune
from crawler.operate.upkeep.pruning import prune as prune_output
from crawler.prune.choosing import Keep
from crawler.status import number_of, size
from crawler.wiring.components.disk_space import kept


@click.command()
@directory
@click.option("--keep", callback=age_of, metavar="TIME", help="Delete files whose last page is older, as 90d or 12h.")
@click.option(
    "--keep-bytes", callback=size_of, metavar="SIZE", help="Delete the oldest files until SIZE is left, as 200GB."
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be deleted, also of a crawl that runs.")
@as_json
def prune(directory: Path, keep: float | None, keep_bytes: int | None, dry_run: bool, as_json: bool) -> None:
    """Delete the oldest records and archives of the crawl in DIR. What they were is noted in pruned.json.

    Without --keep and --keep-bytes, output.keep_s and output.keep_bytes of the crawl hold. A running crawl does this by
    itself, by these settings. Archives stay to which later ones refer.
    """
    if part_at(directory) is not None:
        raise click.UsageError(
            "records and archives of all parts count together: name the directory of the whole crawl"
        )
    wanted = Keep(seconds=keep, bytes=keep_bytes)
    if not wanted:
        wanted = kept(stored_configuration(directory).config)
    if not wanted:
        raise click.UsageError(
            "expected --keep or --keep-bytes, because the crawl sets neither output.keep_s nor output.keep_bytes"
        )
    if dry_run:
        note_elsewhere(directory)
        report = plan_prune(directory, wanted)
    else:
        with lock_places(directory, to_repair=True) as places:
            # Its archives may refer to bodies that only the others have.
            places.check_unbroken()
            report = prune_output(places, wanted)
    show(report, _lines(report), as_json=as_json)


def _lines(report: PruneReport) -> Iterator[str]:
    for pruned in report.pruned:
        yield f"{pruned.file}: {size(pruned.bytes)}, {pruned.reason}"
    for needed in report.needed:
        yield f"{needed.file}: {size(needed.bytes)} stay, because later archives refer to it"
    done = "would be deleted" if report.is_dry_run else "deleted"
    files = number_of(len(report.pruned), "file")
    yield f"{files} of {size(report.bytes_pruned)} {done}, of {size(report.bytes_before)}"
