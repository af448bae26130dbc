"""What Prometheus is told; the alerts and the board that are made of it."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from crawler.serve.life.summary import State
from crawler.serve.machine import Taken
from crawler.serve.measure.exposition import MAX_REASONS, CrawlCollector, CrawlReadings
from crawler.serve.measure.history import History, Readings
from tests.unit.serve.samples import in_parts, told

REPOSITORY = Path(__file__).parents[3]
START_S = 1_800_000_000.0
STATES = get_args(State)


def crawl(name: str, readings: Readings, *, state: State = "running", is_running: bool = True) -> CrawlReadings:
    return CrawlReadings(name=name, state=state, crashes=1, is_running=is_running, readings=readings)


def readings(folder: Path) -> Readings:
    """Of a crawl in two parts; one of them has had two processes."""
    history = History(folder)
    taken = {8: Taken(300, 3, 1.5), 9: Taken(400, 4, 2.5)}
    for number, status in enumerate(
        (
            in_parts(part_0=told(30, pid=8), part_1=told(20, pid=7)),
            in_parts(part_0=told(40, pid=8, elapsed_s=15), part_1=told(5, pid=9, elapsed_s=2)),
        )
    ):
        at = START_S + 5 * number
        history.keep(status, at=at, taken=Taken(1000, 9, 5.0), taken_by_parts=taken, free_disk_bytes=7)
    return history.readings


def scrape(*crawls: CrawlReadings) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """The samples by name and labels, as Prometheus reads them."""
    registry = CollectorRegistry()
    registry.register(CrawlCollector(crawls, STATES, "1.0"))
    as_openmetrics, content_type = choose_encoder("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert as_openmetrics(registry).endswith(b"# EOF\n")
    families: list[Metric] = list(text_string_to_metric_families(generate_latest(registry).decode()))
    assert all(family.documentation.endswith(".") for family in families)
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in families:
        for sample in family.samples:
            values = found.setdefault(sample.name, {})
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in values
            values[labels] = sample.value
    return found


def of_part(number: int, **more: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({"crawl": "a", "part": str(number), **more}.items()))


def test_a_scrape_has_the_counts_of_each_part_over_all_of_its_processes(tmp_path: Path) -> None:
    found = scrape(crawl("a", readings(tmp_path)))
    assert found["onceover_pages_total"] == {of_part(0): 40, of_part(1): 25}
    assert found["onceover_process_starts_total"] == {of_part(0): 1, of_part(1): 2}
    assert found["onceover_received_bytes_total"][of_part(0)] == 40_000
    # Each of the two processes has counted its own.
    assert found["onceover_responses_total"][of_part(1, **{"class": "2xx"})] == 25
    assert found["onceover_responses_total"][of_part(1, **{"class": "3xx"})] == 4 + 1
    assert found["onceover_documents_read_in_part_total"] == {of_part(0): 4, of_part(1): 2}
    assert found["onceover_truncated_pages_total"] == {of_part(0): 4, of_part(1): 2}
    assert found["onceover_failures_total"] == {of_part(0): 12, of_part(1): 6}
    assert found["onceover_failures_by_reason_total"] == {
        of_part(0, reason="timeout"): 4, of_part(0, reason="status"): 8,
        of_part(1, reason="timeout"): 0, of_part(1, reason="status"): 0,
    }  # fmt: skip
    assert found["onceover_settled_urls"][of_part(0, outcome="done")] == 50
    assert found["onceover_hosts"][of_part(0, state="waiting")] == 8
    assert found["onceover_visited_fill_ratio"][of_part(0)] == 0.25
    assert found["onceover_process_resident_bytes"] == {of_part(0): 300, of_part(1): 400}
    assert found["onceover_process_cpu_seconds_total"] == {of_part(0): 1.5, of_part(1): 2.5}
    whole = (("crawl", "a"),)
    assert found["onceover_crawl_resident_bytes"] == {whole: 1000}
    assert found["onceover_crawl_disk_free_bytes"] == {whole: 7}
    assert found["onceover_crawl_crashes"] == {whole: 1}
    assert found["onceover_crawl_last_answer_timestamp_seconds"] == {whole: START_S + 5}
    states = {dict(labels)["state"]: value for labels, value in found["onceover_crawl_state"].items()}
    assert states == {state: float(state == "running") for state in STATES}


def test_a_crawl_that_does_not_run_keeps_its_counts_and_takes_nothing(tmp_path: Path) -> None:
    seen = readings(tmp_path)
    running = scrape(crawl("a", seen))
    held = scrape(crawl("a", seen, state="held", is_running=False), crawl("b", Readings(), state="scheduled"))
    assert held["onceover_pages_total"] == running["onceover_pages_total"]
    assert held["onceover_queued_urls"] == running["onceover_queued_urls"]
    assert running.keys() - held.keys() == {
        "onceover_crawl_cpu_seconds_total", "onceover_crawl_disk_free_bytes", "onceover_crawl_open_files",
        "onceover_crawl_resident_bytes", "onceover_failing_hosts", "onceover_hosts", "onceover_in_flight_urls",
        "onceover_process_cpu_seconds_total", "onceover_process_open_files", "onceover_process_resident_bytes",
        "onceover_visited_memory_bytes",
    }  # fmt: skip
    assert held["onceover_crawl_state"][("crawl", "b"), ("state", "scheduled")] == 1
    assert scrape().keys() == {"onceover_build_info"}


def test_no_label_grows_with_the_web(tmp_path: Path) -> None:
    seen = readings(tmp_path)
    letters = "abcdefghijklmnopqrstuvwxyz"
    reasons = {f"plug-in-{first}{second}": 1 for first in letters for second in letters}
    part = msgspec.structs.replace(seen.parts[0], failures=reasons)
    many = scrape(crawl("a", msgspec.structs.replace(seen, parts={0: part})))
    by_reason = many["onceover_failures_by_reason_total"]
    assert len(by_reason) == MAX_REASONS + 1
    assert sum(by_reason.values()) == len(reasons)
    labels = {name for values in scrape(crawl("a", seen)).values() for labels in values for name, _ in labels}
    assert labels == {"class", "crawl", "outcome", "part", "reason", "state", "version"}


def known(folder: Path) -> dict[str, set[str]]:
    """The labels of each metric."""
    found = scrape(crawl("a", readings(folder)))
    return {name: {label for labels in values for label, _ in labels} for name, values in found.items()}


def test_the_page_names_each_metric_with_its_labels(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
    told: dict[str, set[str]] = {}
    for line in page.splitlines():
        names, _, meaning = line.removeprefix("| ").partition(" |")
        for name, labels in re.findall(r"`(onceover_\w+)(?:\{([\w,]+)\})?`", names):
            assert line.startswith("| ")
            assert meaning
            told[name] = set(labels.split(","))
    assert told == known(tmp_path)


def selectors(expression: str) -> Iterator[promql_parser.VectorSelector]:
    """What an expression reads. Raises `ValueError` if it is none."""
    found: list[promql_parser.VectorSelector] = []

    def note(part: promql_parser.Expr) -> bool:
        if isinstance(part, promql_parser.MatrixSelector):
            found.append(part.vector_selector)
        elif isinstance(part, promql_parser.VectorSelector):
            found.append(part)
        return True

    # Grafana replaces its variables before it asks.
    promql_parser.walk(promql_parser.parse(expression.replace("$__rate_interval", "5m")), note)
    yield from found


def assert_reads_what_exists(expression: str, metrics: Mapping[str, set[str]]) -> None:
    read = list(selectors(expression))
    assert read, expression
    for selector in read:
        assert selector.name is not None
        assert selector.name in metrics, expression
        assert {matcher.name for matcher in selector.matchers.matchers} <= metrics[selector.name], expression
    for grouped in re.findall(r"\b(?:by|on) \(([\w, ]+)\)", expression):
        labels = set(grouped.split(", ")) - {"instance"}
        assert any(labels <= metrics[str(selector.name)] for selector in read), expression


def alerts() -> list[dict[str, Any]]:
    text = (REPOSITORY / "deploy" / "prometheus-alerts.yml").read_text(encoding="utf-8")
    (group,) = yaml.safe_load(text)["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_an_alert_reads_what_exists_and_says_which_crawl(alert: dict[str, Any], tmp_path: Path) -> None:
    metrics = known(tmp_path)
    assert_reads_what_exists(alert["expr"], metrics)
    states = re.findall(r'onceover_crawl_state\{state=~?"([\w|]+)"\}', alert["expr"])
    assert {state for each in states for state in each.split("|")} <= set(STATES)
    is_of_crawl = alert["alert"] != "OnceoverGone"
    assert ("{{ $labels.crawl }}" in alert["annotations"]["summary"]) == is_of_crawl
    assert alert["labels"]["severity"] in {"warning", "critical"}
    page = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert f"`{alert['alert']}`" in page


def test_the_board_reads_what_exists_and_names_no_server(tmp_path: Path) -> None:
    text = (REPOSITORY / "deploy" / "grafana-board.json").read_text(encoding="utf-8")
    board = json.loads(text)
    metrics = known(tmp_path)
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(expressions) > 15
    for expression in expressions:
        assert_reads_what_exists(expression, metrics)
    assert "://" not in text
    assert {each["name"] for each in board["templating"]["list"]} == {"datasource", "crawl"}
    places = [panel["gridPos"] for panel in board["panels"]]
    assert len({(place["x"], place["y"]) for place in places}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
