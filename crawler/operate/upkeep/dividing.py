"""Divides a crawl anew: more parts, fewer parts, or parts for a crawl that had none.

The new parts are made in directories of their own, beside what is there. One step makes them the parts of the crawl:
`parts.json` is replaced. Before it, the crawl is as it was, but can't be run until it is divided or that is given up.
After it, what is left is to delete the old frontiers, visited sets and fingerprints. `parts.next.json` exists from
before the first change until the last, so that the same call goes on after a crash.

The old output stays where it is. `parts.json` lists its directories.

A crawl on many machines is divided when all its parts are in one directory. Its register is retired after the division
was noted, and before anything else is changed: from then on no machine runs a copy of the old parts. The divided crawl
is on one machine, until it is registered again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import msgspec

from config import Loaded, render_run
from crawler.disk.clearing import delete_crawl
from crawler.disk.directory import CrawlDirectory
from crawler.disk.free_space import free_bytes
from crawler.disk.layout import Layout, part_at, read_division, read_layout, write_division, write_layout
from crawler.files.folders import delete_folders
from crawler.operate.actions.imported import divide_imported
from crawler.operate.actions.noting import divide_noted
from crawler.operate.opening import lock_directory
from crawler.operate.refused import Refused
from crawler.operate.upkeep.places import lock_all_parts
from crawler.repeats.stored import divide_fingerprints
from crawler.status import number_of, size
from crawler.wiring.backends import frontier_backend, lacks
from crawler.wiring.components import discovering
from crawler.wiring.configuration import load
from crawler.wiring.parts import begin_suffixes, check_parts, use_suffixes_of
from crawler.wiring.queue_settings import queue_settings
from crawler.wiring.regrouping import CrawlRouting
from crawler.wiring.storage import open_state
from frontier import Part, StoreFailed, StoreFull
from frontier.regrouping import PartOfState, Regrouped, Regrouping

_GROWTH: Final = 1.25
"""The frontiers of the parts take as much space as those before, and a quarter more before they are compacted."""
_SPACE_OF_PART_BYTES: Final = 32 * 1024 * 1024

Progress = Callable[[str, int], None]
"""Called with what is being done, and how many records that was so far."""


class Divided(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of a crawl that was to be divided anew. Counts are of URLs unless the name says otherwise."""

    parts: int
    parts_before: int
    """1 also for a crawl that had no parts."""
    is_changed: bool
    """False if it had so many parts already, or has them again because a division was given up."""
    urls: int | None = None
    pending: int | None = None
    retrying: int | None = None
    queues: int | None = None
    links_admitted: int | None = None
    """Links that were on their way between parts."""
    new: int | None = None
    """URLs among them that the crawl did not know."""


class MachinesRegister(Protocol):
    """What machines have agreed on that run the crawl. Raises `Refused` if it can't be used."""

    async def learn(self) -> None:
        """Store in the locked directory of the crawl what machines have changed."""

    async def retire(self, generation: str) -> None:
        """Let no machine run the crawl as it is, because that generation takes its place. Raises `Refused` if some
        machine runs it, or has a newer part than this directory."""

    async def revive(self, generation: str) -> None:
        """Let machines run the crawl as it is, because that generation does not take its place."""


def check_gathered(path: Path) -> None:
    """Raise `DirectoryRefused` unless all parts of a crawl that does not run are in its directory."""
    _finish(path)
    with _lock_all(path):
        pass


async def divide(path: Path, parts: int, *, progress: Progress, register: MachinesRegister | None = None) -> Divided:
    """Divide the crawl in a directory among so many parts; it must not run. After a crash, call it again. One on many
    machines needs its `register`.

    Raises `Refused` and `DirectoryRefused` for what can't be divided, `StoreRefused`, `StoreFailed` and `ConfigError`.
    """
    if part_at(path) is not None:
        raise Refused(f"{path} is one part of a crawl: name the directory of the whole crawl, which has it")
    _check_configured(path, parts)
    done = None
    while done is None:
        _finish(path)
        with _lock_all(path):
            done = await _divide(path, parts, progress=progress, register=register)
    _finish(path)
    return done


async def _divide(path: Path, parts: int, *, progress: Progress, register: MachinesRegister | None) -> Divided | None:
    """Divide a locked crawl. None if a division that had been given up was in the way, and is gone now."""
    if register is not None:
        await register.learn()
    loaded = _with_parts(path, parts)
    layout, division = read_layout(path), read_division(path)
    assert layout is None or layout.cluster is None or register is not None
    before = 1 if layout is None else len(layout.parts)
    if division is not None and (division.is_given_up or len(division.parts) != parts):
        job = _job(path, layout, division, loaded, lambda _what, _count: None)
        if not division.is_given_up and parts != before:
            raise Refused(
                f"the crawl in {path} is being divided into {number_of(len(division.parts), 'part')}: go on with "
                f"--into {len(division.parts)}, or leave it as it was with --into {before}"
            )
        await _give_up(path, job, division, loaded, register)
        return Divided(parts=before, parts_before=before, is_changed=False) if parts == before else None
    if division is None and parts == before:
        return Divided(parts=parts, parts_before=before, is_changed=False)
    if division is None:
        division = _begin(path, layout, loaded, parts)
    if register is not None:
        await register.retire(division.generation)
    use_suffixes_of(CrawlDirectory(path))
    job = _job(path, layout, division, loaded, progress)
    done = await _regroup(path, job, division, loaded, register)
    sources = [CrawlDirectory(each) for each in _directories(path, layout)]
    targets = [CrawlDirectory(each) for each in division.directories(path)]
    divide_fingerprints(
        [each.fingerprints for each in sources],
        [each.fingerprints for each in targets],
        owner_of=job.routing.owner_of_settled,
        progress=lambda count: progress("fingerprints divided", count),
    )
    divide_noted(sources, targets)
    divide_imported(
        sources, targets, owner_of=job.routing.owner_of_settled, read=partial(discovering.read_url, loaded.config)
    )
    write_layout(path, division)
    return Divided(
        parts=parts,
        parts_before=before,
        is_changed=True,
        urls=done.urls,
        pending=done.pending,
        retrying=done.retrying,
        queues=done.queues,
        links_admitted=done.links,
        new=done.new,
    )


def _check_configured(path: Path, parts: int) -> None:
    layout, configuration = read_layout(path), CrawlDirectory(path).configuration
    if layout is not None and layout.cluster is None and not configuration.exists():
        raise Refused(
            f"{configuration} is missing. If the crawl was stopped before it had begun, `onceover crawl` with --parts "
            f"{parts} begins it in so many parts; otherwise restore that file, or run the crawl with its settings"
        )


@contextmanager
def _lock_all(path: Path) -> Iterator[None]:
    """Lock the crawl and all its parts, and those that are being made."""
    with ExitStack() as stack:
        stack.enter_context(lock_all_parts(path))
        for target in () if (division := read_division(path)) is None else division.directories(path):
            stack.enter_context(CrawlDirectory(target, to="change"))
        yield


def _with_parts(path: Path, parts: int) -> Loaded:
    """The configuration of the last run, with so many parts. Raises `ConfigError` if it can't have them."""
    configuration = CrawlDirectory(path).configuration
    in_parts = [f"crawl.parts={parts}"]
    loaded = load(configuration, overrides=in_parts, environ={}, require_seeds=False, require_contact=False)
    check_parts(loaded)
    return loaded


def _begin(path: Path, layout: Layout | None, loaded: Loaded, parts: int) -> Layout:
    """Check that the crawl can be divided, and note how."""
    directory = CrawlDirectory(path)
    if frontier_backend(loaded.config).upkeep.regroup is None:
        raise lacks(loaded.config, "divide its state among parts")
    sources = _directories(path, layout)
    for source in sources:
        # This tells whether the state is sound, and fits its configuration.
        open_state(loaded.config, CrawlDirectory(source)).close()
    _check_space(path, sources, parts)
    try:
        division = Layout.after(layout, path, parts)
    except ValueError as error:
        raise Refused(str(error)) from error
    if not directory.suffixes.exists():
        begin_suffixes(directory)
    write_division(path, division)
    return division


def _check_space(path: Path, sources: Sequence[Path], parts: int) -> None:
    used = sum(file.stat().st_size for source in sources for file in CrawlDirectory(source).frontier.iterdir())
    needed, free = int(used * _GROWTH) + parts * _SPACE_OF_PART_BYTES, free_bytes(path)
    if free < needed:
        raise Refused(
            f"too little space in {path}: the frontiers of {number_of(parts, 'part')} need {size(needed)} beside the "
            f"old one until they are complete, and {size(free)} are free. Free some space, then try again"
        )


def _directories(path: Path, layout: Layout | None) -> list[Path]:
    return [path] if layout is None else layout.directories(path)


def _job(path: Path, layout: Layout | None, division: Layout, loaded: Loaded, progress: Progress) -> Regrouping:
    sources, targets = _states(path, layout), _states(path, division)
    return Regrouping(
        sources=sources,
        targets=targets,
        routing=CrawlRouting(loaded, before=len(sources), parts=len(targets)),
        settings=queue_settings(loaded.config),
        progress=progress,
    )


def _states(path: Path, layout: Layout | None) -> list[PartOfState]:
    if layout is None:
        return [PartOfState(CrawlDirectory(path).frontier, None)]
    return [
        PartOfState(
            CrawlDirectory(directory).frontier, Part(number=number, parts=len(layout.parts), lineage=place.lineage)
        )
        for number, (place, directory) in enumerate(zip(layout.parts, layout.directories(path), strict=True))
    ]


async def _regroup(
    path: Path, job: Regrouping, division: Layout, loaded: Loaded, register: MachinesRegister | None
) -> Regrouped:
    upkeep = frontier_backend(loaded.config).upkeep
    assert upkeep.regroup is not None
    with ExitStack() as stack:
        for target in division.directories(path):
            if not (lock := CrawlDirectory(target, to="change")).lock.exists():
                stack.enter_context(lock)
        try:
            return await upkeep.regroup(job)
        except StoreFull as error:
            before = len(job.sources)
            raise StoreFull(
                f"{error}; then run the same command again, or `onceover parts {path} --into {before}` to leave the "
                "crawl as it was"
            ) from error
        except Exception as error:
            if isinstance(error, StoreFailed) or not isinstance(error, OSError):
                await _give_up(path, job, division, loaded, register)
            raise


async def _give_up(
    path: Path, job: Regrouping, division: Layout, loaded: Loaded, register: MachinesRegister | None
) -> None:
    """Leave the crawl as it was. The note stays until the new parts are deleted, and says that the division can't go
    on: if this is stopped, some of them may be gone, and others look complete."""
    write_division(path, msgspec.structs.replace(division, is_given_up=True))
    abandon = frontier_backend(loaded.config).upkeep.abandon
    assert abandon is not None
    abandon(job)
    for target in filter(Path.exists, division.directories(path)):
        delete_crawl(CrawlDirectory(target))
    if register is not None:
        await register.revive(division.generation)
    CrawlDirectory(path).division.unlink()


def _finish(path: Path) -> None:
    """If the crawl has just been divided, delete the old frontiers."""
    layout, division = read_layout(path), read_division(path)
    if layout is None or division is None or layout.generation != division.generation:
        return
    with lock_directory(path, to_change=True):
        directory = CrawlDirectory(path)
        # The configuration that a run without another one uses has to say the same.
        directory.write_configuration(render_run(_with_parts(path, len(layout.parts)).lasting))
        for name in layout.earlier:
            source = CrawlDirectory(path / name)
            delete_folders((source.frontier, source.visited, source.fingerprints))
        directory.division.unlink()
