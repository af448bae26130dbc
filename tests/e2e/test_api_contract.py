"""Any request to the API, sensible or not, gets a reply that the API's document describes."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from crawler.serve.api.events.streaming import EVENT_STREAM
from tests.e2e.crawling import TIMEOUT_S, Web
from tests.e2e.test_daemon import write
from tests.e2e.test_daemon_api import BASE, on_port

NAMES = ("a", "a", None)
"""Of a crawl that there is; None stands for a name of schemathesis."""
ENDS = ("DELETE /api/v1/crawls/{name}", "POST /api/v1/crawls/{name}/stop")
"""What is not asked of a crawl that there is: to ask one that does not run takes a process."""


@pytest.mark.parametrize(
    "examples", [pytest.param(2, id="quick"), pytest.param(150, id="long", marks=pytest.mark.long)]
)
def test_each_reply_is_one_that_the_document_describes(examples: int, tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=30.0)
    with on_port(home) as (served, api, port):
        served.wait_for_pid("a")
        token = (home / "token").read_text().strip()
        contract = Contract(port, {"Authorization": f"Bearer {token}"})
        document = api.ask("GET", f"{BASE}/openapi.json", headers=contract.headers).json()
        contract.hold(document, examples)
        assert "could not be answered" not in served.daemon.err
        assert "Traceback" not in served.daemon.err
    assert contract.answered > 40 * examples
    assert {200, 404, 409, 422} <= contract.statuses
    assert {path.name for path in tmp_path.iterdir()} == {"home", "stdout", "stderr"}
    assert {path.name for path in home.iterdir()} <= {"a.toml", "crawls", "daemon", "token"}


class Contract:
    """Asks as the document says, and as it does not."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self.headers = headers
        self.answered = 0
        self.statuses: set[int] = set()
        self._url = f"http://127.0.0.1:{port}"

    def hold(self, document: dict[str, Any], examples: int) -> None:
        # It takes a second to import, which no other test has to pay.
        import schemathesis  # noqa: PLC0415
        from schemathesis.generation import GenerationMode  # noqa: PLC0415

        schemathesis.serializer("application/toml")(_as_bytes)
        schema = schemathesis.openapi.from_dict(document)
        schema.validate()
        for found in schema.get_all_operations():
            operation = found.ok()
            if EVENT_STREAM in str(operation.definition.raw["responses"]):
                continue  # has no end; test_events.py reads one
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                self._ask(operation.as_strategy(generation_mode=mode), examples)

    def _ask(self, cases: st.SearchStrategy[Any], examples: int) -> None:
        @settings(
            max_examples=examples,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(cases, st.sampled_from(NAMES))
        def ask(case: Any, name: str | None) -> None:
            if name is not None and "name" in case.path_parameters and case.operation.label not in ENDS:
                case.path_parameters["name"] = name
            self._check(case)

        try:
            ask()
        except Unsatisfiable:
            return  # an operation without parameters, of which nothing can be wrong

    def _check(self, case: Any) -> None:
        from schemathesis.checks import CHECKS  # noqa: PLC0415

        checks = CHECKS.get_by_names(
            [
                "status_code_conformance",
                "content_type_conformance",
                "response_headers_conformance",
                "response_schema_conformance",
            ]
        )
        response = case.call(base_url=self._url, headers=self.headers, timeout=TIMEOUT_S)
        while response.status_code == 429:
            case.validate_response(response, checks=checks)
            time.sleep(int(response.headers["retry-after"][0]))
            response = case.call(base_url=self._url, headers=self.headers, timeout=TIMEOUT_S)
        assert response.status_code < 500 or response.status_code in {503, 504}, (case, response.content)
        case.validate_response(response, checks=checks)
        self.answered += 1
        self.statuses.add(response.status_code)


def _as_bytes(_context: object, value: object) -> bytes:
    return str(value).encode("utf-8", "surrogatepass")
