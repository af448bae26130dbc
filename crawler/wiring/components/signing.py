"""Makes what signs requests."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from pathlib import Path
from time import time
from typing import Any, Final

from yarl import URL

from config import Loaded, Problem, has_contact
from crawler.fetch.robots.rules import product_token
from crawler.fetch.signing.values import SignsRequests
from frontier import Notes

_log = logging.getLogger(__name__)
_CHECKED_EVERY_S: Final = 60.0
_WARNED_BEFORE_S: Final = 30 * 86_400
_BROWSERS: Final = frozenset({"mozilla", "opera", "chrome", "safari", "lynx"})


def signing(loaded: Loaded, notes: Notes, is_public: Callable[[URL], Awaitable[bool]]) -> SignsRequests | None:
    """What signs requests; None if none are signed. `is_public` tells whether a URL's host is public. The configuration
    must have been checked."""
    identity = loaded.config.identity
    if identity.sign == "never":
        return None
    # They need an extra, which may not be installed.
    from crawler.fetch.signing.challenges import Challenges  # noqa: PLC0415 - see above
    from crawler.fetch.signing.signer import Signer, SigningKey  # noqa: PLC0415 - see above
    from crawler.fetch.signing.signing import Signing  # noqa: PLC0415 - see above

    assert identity.agent is not None
    signer = Signer(
        agent=identity.agent,
        key=_LatestKey(_folder(loaded), SigningKey),
        lifetime_s=identity.lifetime_s,
        each_request=identity.cover == "request",
    )
    return Signing(
        signer, Challenges(notes), when_asked=identity.sign == "challenged", hosts=identity.hosts, is_public=is_public
    )


def check(loaded: Loaded) -> None:
    """Raises `ConfigError` if requests are to be signed, and can't be."""
    identity = loaded.config.identity
    if identity.sign == "never":
        return
    if identity.agent is None:
        raise loaded.refuse(
            "identity.agent",
            "expected the site where you publish the public keys, because requests are to be signed: "
            'agent = "https://bot.your.site"',
        )
    folder = _folder(loaded)
    with loaded.refusing("identity.keys"):
        key = folder.signing_key(time())
    if key is None:
        raise loaded.refuse(
            "identity.keys", f"no key in {folder.path} is valid now: `onceover identity renew {folder.path}` makes one"
        )


def warnings(loaded: Loaded) -> Iterator[Problem]:
    """What sites will miss that want to know who asks."""
    config = loaded.config
    agent, identity = config.fetch.user_agent, config.identity
    if product_token(agent) in _BROWSERS:
        yield loaded.problem(
            "fetch.user_agent",
            f'"{agent}" begins like a browser: give the crawler a name of its own, such as "onceover/1.0 '
            '(+https://your.site/crawler)"',
        )
    if has_contact(agent) and "://" not in agent:
        yield loaded.problem(
            "fetch.user_agent",
            f'"{agent}" names no page: many sites look for a URL that says what the crawler does; see docs/identity.md',
        )
    if identity.sign != "never":
        key, _ = _folder(loaded).signing_key(time())
        left_s = max(each.exp for each in _folder(loaded).directory().keys) - time()
        if key is not None and left_s < _WARNED_BEFORE_S:
            yield loaded.problem(
                "identity.keys",
                f"the last key is valid for {max(0, left_s) / 86_400:.0f} more days: "
                f"`onceover identity renew {identity.keys}` makes the next one",
            )


def _folder(loaded: Loaded) -> Any:
    """The folder (`crawler.identity.folder.KeyFolder`) that is configured. Raises `ConfigError`."""
    keys = loaded.config.identity.keys
    if keys is None:
        raise loaded.refuse(
            "identity.keys", "expected a folder of keys, as `onceover identity init FOLDER` makes it; it is unset"
        )
    try:
        folder = import_module("crawler.identity.folder")
    except ModuleNotFoundError as error:
        raise loaded.refuse(
            "identity.sign", "http-message-signatures is not installed: pip install 'onceover-crawler[signatures]'"
        ) from error
    return folder.KeyFolder(Path(keys))


class _LatestKey:
    """The key that signs now. It notices a renewed key within a minute, and goes on with what it knows if the folder
    can't be read."""

    def __init__(self, folder: Any, make: Callable[[str, Any, float], Any]) -> None:
        self._folder = folder
        self._make = make
        self._checked_at = float("-inf")
        self._found: Any = None
        self._is_told = False

    def __call__(self, now: float) -> Any:
        """The `SigningKey`, or None if none is valid."""
        if now - self._checked_at >= _CHECKED_EVERY_S or (self._found is not None and self._found.valid_until <= now):
            self._checked_at = now
            self._read(now)
        found = self._found
        if found is not None and found.valid_until > now:
            return found
        if not self._is_told:
            _log.warning(
                "no key in %s is valid: requests are not signed. `onceover identity renew %s` makes a key",
                self._folder.path,
                self._folder.path,
            )
            self._is_told = True
        return None

    def _read(self, now: float) -> None:
        try:
            key = self._folder.signing_key(now)
        except (OSError, ValueError) as error:
            _log.warning("the keys in %s can't be read: %s", self._folder.path, error)
            return
        self._found = None if key is None else self._make(key[0].kid, key[1], float(key[0].exp))
        self._is_told = self._is_told and self._found is None
