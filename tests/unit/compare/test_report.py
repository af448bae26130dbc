"""That a report shows what was measured, and can be shown anywhere."""

import re
from html.parser import HTMLParser

import msgspec
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from rich.console import Console

from crawler.compare.measure.trial import (
    Competitor,
    Crawled,
    Done,
    Failed,
    Outcome,
)
from crawler.compare.measure.work import Live, Survey, Work
from crawler.compare.report.drawing import label_points
from crawler.compare.report.expecting import Expectation
from crawler.compare.report.page import page
from crawler.compare.report.plots import Plot, plots
from crawler.compare.report.recommending import Requirements
from crawler.compare.report.table import render
from crawler.compare.report.value import Circumstances, Report, report_of
from tests.unit.compare.making import check, timing, work

SETS = [
    Competitor(name="exact", backend="exact"),
    Competitor(name='<b>"bloom"</b>', backend="bloom"),
    Competitor(name="rbloom", backend="rbloom"),
]
EMPTY = Survey(links=0, distinct=0, hosts=0, largest_host="", largest_host_urls=0, mean_length=0.0)


def done(name: str, outcome: Outcome, work: str = "work") -> Done:
    return Done(key="", kind="time", work=work, competitor=name, round=0, outcome=outcome)


@pytest.fixture(scope="module")
def report() -> Report:
    works = [
        msgspec.structs.replace(work(10), stands_for=1000),
        Work(name="web", stream=Live(configuration=""), survey=EMPTY),
    ]
    trials = [
        done("exact", timing()),
        done("exact", check()),
        done(SETS[1].name, timing(reported_bytes=2000, steady_bytes=2500)),
        done(SETS[1].name, check(lost=20, rate=1e-3, past_lost=4000)),
        done("rbloom", Failed(reason="rbloom is not installed")),
        done(
            "exact",
            Crawled(pages=90, missing=None, seconds=1.0, count=100, reported_bytes=10, estimated_lost=0.0),
            "web",
        ),
        done(
            SETS[1].name,
            Crawled(pages=88, missing=None, seconds=1.0, count=9, reported_bytes=1, estimated_lost=2.0),
            "web",
        ),
    ]
    return report_of(
        works,
        [("gone", "can't read gone: No such file or directory")],
        SETS,
        trials,
        requirements=Requirements(max_loss=1e-4, max_memory_bytes=None),
        expected=[Expectation(work="work", set="exact", figure="rate", value=0.0, says="never <errs>")],
        circumstances=Circumstances(seed=1, measured_at="2026-01-01T00:00:00+00:00", complete=False),
    )


@pytest.fixture(scope="module")
def drawn(report: Report) -> list[Plot]:
    """Its plots, with a set whose memory can't be told. To draw takes long."""
    faint = [
        msgspec.structs.replace(row, competitor="rbloom", reported_bytes=None, bytes=10, noise_bytes=1000)
        for row in report.rows[:1]
    ]
    return plots(msgspec.structs.replace(report, rows=(*report.rows, *faint)))


class Tags(HTMLParser):
    """Whether each tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_needs_nothing_else_and_lets_no_name_be_a_tag(report: Report, drawn: list[Plot]) -> None:
    text = page(report, {plot.work: [plot.svg] for plot in drawn})
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert all(each.startswith("#") for each in tags.loaded)
    assert "<b>" not in text
    assert "never &lt;errs&gt;" in text
    assert "rbloom is not installed" in text
    assert "can&#x27;t read gone" in text
    assert "The run was stopped" in text
    assert "at 1,000 (extrapolated)" in text
    assert "<th>beyond: URLs</th>" in text
    assert "<td>2,000,000</td>" in text
    assert "<th>disk</th>" not in text, "nobody has anything there"


def test_every_plot_is_there_once_and_in_both_forms(drawn: list[Plot]) -> None:
    assert [(plot.work, plot.name) for plot in drawn] == [
        ("work", "memory"),
        ("work", "rate"),
        ("work", "throughput"),
        ("work", "loss"),
    ]
    assert all(plot.png.startswith(b"\x89PNG") and plot.svg.startswith("<svg") for plot in drawn)
    names = [name for plot in drawn for name in set(re.findall(r'<clipPath id="([^"]+)"', plot.svg))]
    assert len(names) == len(set(names)), "plots in one page would use each other's parts"


def test_a_set_whose_memory_can_not_be_told_is_named_below_the_plot(drawn: list[Plot]) -> None:
    told = "not shown, because their memory is too small to measure"
    assert [plot.name for plot in drawn if told in plot.svg] == ["loss"]
    assert f"{told}: rbloom" in drawn[-1].svg


def test_no_name_of_a_point_covers_another_a_point_or_the_legend() -> None:
    figure = Figure(figsize=(6.4, 4.1), layout="constrained")
    axes = figure.add_subplot()
    named = [
        ((300.0, 1e-3), "int32"),
        ((301.0, 1.01e-3), "salted"),
        ((305.0, 1e-3), "per site, 32 KB"),
        ((40.0, 1e-3), "4"),
    ]
    named += [((20.0 + number, 1e-4), f"{number} bits for each URL") for number in range(8)]
    axes.plot([x for (x, _), _ in named], [y for (_, y), _ in named], "o", markersize=8, label="the best choices")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend(loc="best")
    texts = label_points(axes, named)
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    legend = axes.get_legend()
    assert legend is not None
    taken = [legend.get_window_extent(renderer)]
    taken += [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in axes.transData.transform([at for at, _ in named])]
    assert {text.get_text() for text in texts} == {name for _, name in named}
    for text in texts:
        box = Text.get_window_extent(text, renderer)
        assert not [other for other in taken if box.overlaps(other)], text.get_text()
        taken.append(box)


def test_the_table_tells_rows_failures_expectations_and_what_to_take(report: Report) -> None:
    console = Console(width=160, record=True, file=None, quiet=False)
    with console.capture() as capture:
        console.print(render(report, 160))
    text = capture.get()
    for words in (
        "exact",
        "rbloom: rbloom is not installed",
        "gone: could not be measured",
        "Expected",
        "Recommended",
    ):
        assert words in text
    assert re.search(r'bloom"</b> +88 +2 ', text)


def test_names_are_shown_as_they_are_written() -> None:
    names = ["[/large]", "[red]", "a$\\frac$b"]
    shown = report_of(
        [msgspec.structs.replace(work(100_000), name="[/work]")],
        [],
        [Competitor(name=name, backend="exact") for name in names],
        [done(name, outcome, "[/work]") for name in names for outcome in (timing(), check())],
        requirements=Requirements(max_loss=1e-4, max_memory_bytes=None),
        expected=[Expectation(work="[/work]", set=name, figure="loss", value=0.0) for name in names],
        circumstances=Circumstances(seed=1, measured_at="2026-01-01T00:00:00+00:00", complete=True),
    )
    console = Console(width=200)
    with console.capture() as capture:
        console.print(render(shown, 200))
    for name in names:
        assert len(re.findall(rf"^ {re.escape(name)} ", capture.get(), re.MULTILINE)) == 2
    drawn = plots(shown)
    assert all("a$\\frac$b" in plot.svg for plot in drawn)
    assert not any("too small to measure" in plot.svg for plot in drawn)


def test_a_set_on_a_server_is_shown_with_the_memory_and_processor_time_of_the_server() -> None:
    remote = msgspec.structs.replace(timing(), server_bytes=960_000, server_cpu_s=2.5e-6)
    shown = report_of(
        [work(100_000)],
        [],
        SETS[:2],
        [done("exact", timing()), done(SETS[1].name, remote)],
        requirements=Requirements(max_loss=1e-4, max_memory_bytes=None),
        expected=[],
        circumstances=Circumstances(seed=1, measured_at="2026-01-01T00:00:00+00:00", complete=True),
    )
    text = page(shown, {})
    _, on_server = text.split("<h3>On the server</h3>")
    cells = re.findall(r"<td[^>]*>(.*?)</td>", on_server.split("</table>")[0])
    assert cells[-3:] == ["9.60", "2.5 µs", "400,000"]
    assert len(re.findall("<tr", on_server.split("</table>")[0])) == 2
    console = Console(width=200)
    with console.capture() as capture:
        console.print(render(shown, 200))
    assert "server CPU" in capture.get()
    assert "2.5 µs" in capture.get()


@pytest.mark.parametrize("columns", [80, 100, 120, 160])
def test_no_figure_is_cut_however_narrow_the_terminal(report: Report, columns: int) -> None:
    measured = msgspec.structs.replace(report.rows[1], competitor="a Bloom filter with a long name, for this crawl")
    report = msgspec.structs.replace(report, rows=(report.rows[0], measured, *report.rows[2:]))
    console = Console(width=columns)
    with console.capture() as capture:
        console.print(render(report, columns))
    text = capture.get()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns
    for name in ("links/s", "slowest", "memory", "B/URL", "lost", "rate", "beyond", "agrees"):
        assert f" {name} " in text
    assert " splits " not in text, "nobody splits here"


def test_the_report_can_be_written_and_read_back(report: Report) -> None:
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


def test_reports_and_journals_keep_the_names_of_their_figures(report: Report) -> None:
    written = msgspec.to_builtins(report)
    row = written["rows"][0]
    assert {"told_bytes", "told_rate"} < row.keys()
    results = [trial["outcome"] for trial in written["trials"]]
    assert any(
        {"told_bytes", "told_lost", "told_rate"} < look.keys() for each in results for look in each.get("looks", ())
    )
