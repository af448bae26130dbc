"""Responses as the browser is told them, and those that are kept for the next page. Pure."""

import base64
import re
from collections import OrderedDict
from typing import Any, Final

import msgspec

USUAL_LIFE_S: Final = 600.0
"""Of what does not say how long it is good."""
MOST_LIFE_S: Final = 3600.0
_FOREIGN_TO_CACHES = re.compile(r"\b(?:no-store|no-cache|private)\b", re.IGNORECASE)
_MAX_AGE = re.compile(r"\bmax-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE | re.ASCII)


class Answer(msgspec.Struct, frozen=True):
    """A response, its body decoded."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""

    def params(self, request_id: str) -> dict[str, Any]:
        """For `Fetch.fulfillRequest`."""
        return {
            "requestId": request_id,
            "responseCode": self.status,
            "responseHeaders": [{"name": name, "value": value} for name, value in self.headers],
            "body": base64.b64encode(self.body).decode("ascii"),
        }


class Kept:
    """Scripts and styles that many pages load alike: the last used ones, up to `max_bytes` of bodies. So a server is
    asked for them once in a while, and not with every page."""

    def __init__(self, *, max_bytes: int = 16_000_000) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._answers: OrderedDict[str, tuple[float, Answer]] = OrderedDict()

    def find(self, name: str, /, *, now: float) -> Answer | None:
        """The answer that is kept under the name, if it is still good."""
        found = self._answers.get(name)
        if found is None:
            return None
        until, answer = found
        if until <= now:
            self._drop(name)
            return None
        self._answers.move_to_end(name)
        return answer

    def keep(self, name: str, answer: Answer, /, *, now: float) -> None:
        """Keep the answer as long as it says, within limits; not at all if it is not good for others, or no success."""
        if name in self._answers:
            self._drop(name)
        life_s = life_s_of(answer)
        if answer.status != 200 or life_s <= 0 or len(answer.body) > self._max_bytes // 4:
            return
        self._answers[name] = now + life_s, answer
        self._bytes += len(answer.body)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._answers)))

    def _drop(self, name: str) -> None:
        self._bytes -= len(self._answers.pop(name)[1].body)


def life_s_of(answer: Answer, /) -> float:
    """How long the answer may be given to other pages."""
    said = ",".join(value for name, value in answer.headers if name.lower() == "cache-control")
    if _FOREIGN_TO_CACHES.search(said):
        return 0.0
    age = _MAX_AGE.search(said)
    return USUAL_LIFE_S if age is None else min(float(age[1]), MOST_LIFE_S)
