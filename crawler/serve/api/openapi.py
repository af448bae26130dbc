"""The document that describes the API, in OpenAPI 3.1."""

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final

import msgspec

from crawler.serve.api.actions import TOML
from crawler.serve.api.gate.repetition import PARAMETER, REPLAYED
from crawler.serve.api.problems import MEDIA_TYPE, Problem
from crawler.serve.api.route import Route

_ALWAYS: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_OF_RANGES: Final = (
    HTTPStatus.PARTIAL_CONTENT,
    HTTPStatus.NOT_MODIFIED,
    HTTPStatus.PRECONDITION_FAILED,
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
)
_REPEATED: Final = (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
"""For a key that another request has had."""
_NAMES: Final = re.compile(r"{(\w+)}")
_LENGTHS: Final = {"name": 100, "host": 300, "export": 40}
_REFERENCE: Final = "#/components/schemas/{name}"


def document(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """The document, ready for JSON."""
    listed = tuple(routes)
    types = {each for route in listed for each in (route.reply, route.body) if each is not None} | {Problem}
    ordered = sorted(types, key=lambda each: each.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "onceover daemon", "version": version},
        "paths": paths,
        "components": {
            "schemas": {name: _with_items(schema) for name, schema in components.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _with_items(schema: Any) -> Any:
    """The same schema, in which each array has a schema of its items. Programs that generate clients expect one, also
    beside `prefixItems`, where `maxItems` says that no more follow."""
    if isinstance(schema, list):
        return [_with_items(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    items = {"items": schema.get("items") or {}} if schema.get("type") == "array" else {}
    return {key: _with_items(value) for key, value in (schema | items).items()}


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": route.name, "summary": route.meaning}
    parameters = [*_path_parameters(route.path), *([] if route.query is None else _query_parameters(route.query))]
    is_repeatable = route.method == "POST"
    if is_repeatable:
        parameters.append(PARAMETER)
    if parameters:
        operation["parameters"] = parameters
    if route.takes_toml:
        operation["requestBody"] = {"required": True, "content": {TOML: {"schema": {"type": "string"}}}}
    elif route.body is not None:
        operation["requestBody"] = {
            "required": any(field.required for field in msgspec.structs.fields(route.body)),
            "content": {"application/json": {"schema": _reference(route.body)}},
        }
    done: dict[str, Any] = {"description": route.status.phrase}
    if route.reply is not None:
        done["content"] = {"application/json": {"schema": _reference(route.reply)}}
    if route.streams is not None:
        done["content"] = {route.streams: {"schema": {"type": "string"}}}
    if is_repeatable:
        done["headers"] = {
            REPLAYED: {
                "description": "`true` if a request with this key was answered before",
                "schema": {"const": "true"},
            }
        }
    refused: dict[str, Any] = {
        str(int(status)): {"description": status.phrase, "content": {MEDIA_TYPE: {"schema": _reference(Problem)}}}
        for status in sorted({*_ALWAYS, *_refusals(route)})
    }
    # What is no HTTP, or has too large headers, is refused before anybody knows which request it is.
    refused[str(int(HTTPStatus.BAD_REQUEST))]["content"]["text/plain"] = {"schema": {"type": "string"}}
    ranges = {str(int(each)): {"description": each.phrase} for each in _OF_RANGES} if route.has_ranges else {}
    operation["responses"] = {str(int(route.status)): done, **ranges, **refused}
    return operation


def _refusals(route: Route) -> Iterator[HTTPStatus]:
    yield from route.refusals
    if route.method == "POST":
        yield from _REPEATED
    if "{name}" in route.path and not route.takes_toml:  # a crawl that is created need not be there
        yield HTTPStatus.NOT_FOUND
    if route.query is not None or route.body is not None or route.takes_toml:
        yield HTTPStatus.UNPROCESSABLE_ENTITY


def _path_parameters(path: str) -> Iterator[dict[str, Any]]:
    for name in _NAMES.findall(path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "maxLength": _LENGTHS[name]}}


def _query_parameters(query: type[msgspec.Struct]) -> Iterator[dict[str, Any]]:
    found = msgspec.json.schema(query)["$defs"][query.__name__]
    for name, schema in found["properties"].items():
        yield {"name": name, "in": "query", "required": name in found.get("required", ()), "schema": schema}


def _reference(kind: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=kind.__name__)}
