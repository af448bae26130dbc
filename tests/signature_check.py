"""Verifies signed requests by RFC 9421, independently of the crawler and of the library with which it signs: it reads
the bytes of headers, and takes nothing but Ed25519 from elsewhere."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_INPUT = re.compile(r"(?P<label>[a-z][a-z0-9_.*-]*)=(?P<all>\((?P<items>[^)]*)\)(?P<params>.*))")
_ITEM = re.compile(r'"(?P<name>[^"]+)"(?P<params>(?:;[a-z]+(?:="[^"]*")?)*)')
_PARAM = re.compile(r';(?P<name>[a-z]+)=(?:"(?P<text>[^"]*)"|(?P<number>[0-9]+))')


class Verified(msgspec.Struct, frozen=True):
    """What a valid signature says."""

    label: str
    components: tuple[str, ...]
    params: dict[str, str]
    agent: str


def verify(method: str, url: str, header: Callable[[str], str | None], keys: Mapping[str, str]) -> Verified:
    """Verify the one signature of a request. `keys` are public keys (`x`) by their thumbprints. Raises `ValueError`."""
    signature_input, signature = header("signature-input"), header("signature")
    match = _INPUT.fullmatch(signature_input or "")
    if match is None or signature is None:
        raise ValueError(f"no signature: {signature_input!r}, {signature!r}")
    params = {found["name"]: found["text"] or found["number"] or "" for found in _PARAM.finditer(match["params"])}
    lines, components = [], []
    for item in _ITEM.finditer(match["items"]):
        components.append(item[0])
        lines.append(f"{item[0]}: {_value(item['name'], item['params'], method, url, header)}")
    lines.append(f'"@signature-params": {match["all"]}')
    label, _, value = signature.partition("=")
    if label != match["label"]:
        raise ValueError(f"two labels: {label} and {match['label']}")
    public = Ed25519PublicKey.from_public_bytes(_decoded(keys[params["keyid"]]))
    try:
        public.verify(base64.b64decode(value.strip(":")), "\n".join(lines).encode())
    except InvalidSignature:
        raise ValueError(f"the signature is wrong; its base: {lines}") from None
    return Verified(label, tuple(components), params, header("signature-agent") or "")


def _value(name: str, params: str, method: str, url: str, header: Callable[[str], str | None]) -> str:
    parts = urlsplit(url)
    match name:
        case "@authority":
            return parts.netloc.lower().removesuffix({"http": ":80", "https": ":443"}[parts.scheme])
        case "@scheme":
            return parts.scheme
        case "@method":
            return method
        case "@path":
            return parts.path or "/"
        case "@query":
            return f"?{parts.query}"
        case "@target-uri":
            return url
    found = header(name)
    if found is None:
        raise ValueError(f"{name} is signed, and missing")
    if not params:
        return found
    member = re.fullmatch(r';key="([^"]+)"', params)
    assert member is not None
    members = dict(part.strip().split("=", 1) for part in found.split(","))
    return members[member[1]]


def thumbprint(x: str) -> str:
    """RFC 7638 of an Ed25519 key."""
    digest = hashlib.sha256(b'{"crv":"Ed25519","kty":"OKP","x":"%s"}' % x.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
