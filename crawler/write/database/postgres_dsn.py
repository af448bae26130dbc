"""Reads a DSN and service files, as far as asyncpg passes over what is wrong with them. Pure but for reading files."""

import configparser
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_BY_SYSTEM: Final = "system"


def read_dsn(dsn: str, environ: Mapping[str, str]) -> tuple[str | None, Path | None]:
    """The DSN with its service, which without a DSN may be that of PGSERVICE, and the file that describes it. Raises
    ValueError for a service or a file that does not exist: a client that passed over it would write to another
    database, or connect without the certificate that it is to check."""
    parts = urlsplit(dsn)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    service = query.pop("service", "") or ("" if dsn else environ.get("PGSERVICE", ""))
    file = query.pop("servicefile", "") or environ.get("PGSERVICEFILE", "")
    _check_files(query)
    if not service:
        return dsn or None, None
    path = Path(file) if file else Path.home() / ".pg_service.conf"
    _check_files(_service(path, service))
    # A path of `/` would name a database without a name.
    place = parts.netloc + parts.path.removesuffix("/")
    return f"postgresql://{place}?{urlencode({**query, 'service': service})}", path


def _service(path: Path, service: str) -> Mapping[str, str]:
    found = configparser.ConfigParser(interpolation=None)
    try:
        is_read = found.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError) as error:
        raise ValueError(f"the service file {path} can't be read: {error}") from error
    if not is_read:
        raise ValueError(f"the service {service} is named, and there is no service file {path}")
    if service not in found:
        raise ValueError(f"{path} has no service {service}; it has {', '.join(found.sections()) or 'none'}")
    return found[service]


def _check_files(options: Mapping[str, str]) -> None:
    for name in _FILES:
        file = options.get(name)
        if file and file != _BY_SYSTEM and not Path(file).exists():
            raise ValueError(f"{name}: there is no file {file}")
