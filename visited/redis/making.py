"""Makes a visited set in Redis, of any form, and gives it a name."""

import hashlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from visited.descriptor import Parameters
from visited.redis.form import Form, Place
from visited.redis.notes import Notes, read_name, write_file
from visited.redis.redis_set import RedisSet
from visited.redis.server import ServerOptions


def make_redis_set(form_of: Callable[[Place], Form], parameters: Parameters, options: ServerOptions) -> RedisSet:
    """A set of the form that `form_of` makes for a place. Raises ValueError if nothing can connect."""
    if parameters.connect is None:
        raise ValueError("expected something that connects to a server, found none; a set in Redis needs it")
    name = options.share or _own_name(parameters.directory)
    place = Place(tag=f"{{{options.prefix}:visited:{name or f'tmp-{secrets.token_hex(6)}'}}}")
    return RedisSet(
        form_of(place),
        parameters.connect(options, place.head),
        place,
        recent=parameters.recent,
        is_temporary=name is None,
        notes=_notes(parameters, options),
        is_shared=options.share is not None,
    )


def _notes(parameters: Parameters, options: ServerOptions) -> Notes | None:
    """What the crawl has noted of those who share the set; None if nobody else can, or if no crawl uses it."""
    crawl, directory = parameters.crawl, parameters.directory
    if options.share is None or crawl is None or directory is None:
        return None
    meeting = None
    if crawl.meeting is not None:
        told = f"{options.url}\n{options.prefix}\n{options.share}"
        meeting = crawl.meeting / hashlib.sha256(told.encode()).hexdigest()[:16]
    return Notes(directory / "sharing" / f"{options.prefix}:{options.share}", crawl, meeting=meeting)


def own_keys(directory: Path, *, besides: str | None = None) -> Iterator[str]:
    """Patterns for the keys of the sets that belong to the folders of a directory, except one of these `besides`."""
    for file in sorted(directory.glob("*/name")):
        if file.parent.name != besides:
            yield f"{{*:visited:{read_name(file)}}}:*"


def _own_name(directory: Path | None) -> str | None:
    """The name of the set that belongs to the files in this directory; None if there are no files."""
    if directory is None:
        return None
    file = directory / "name"
    try:
        return read_name(file)
    except FileNotFoundError:
        name = f"own-{secrets.token_hex(8)}"
        write_file(file, name.encode())
        return name
