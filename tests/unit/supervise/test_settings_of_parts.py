"""What is said when settings can't be changed."""

from pathlib import Path

import msgspec
import pytest

from config import render_toml
from crawler.cluster.register import Register
from crawler.control.replies import Reconfigured, Refusal
from crawler.control.requests import Set
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import ClusterPlace, Layout
from crawler.supervise.cluster.settings import ClusterSettings
from crawler.supervise.coordination.coordinator import Coordinator
from crawler.supervise.preparing import Plan
from crawler.supervise.settings import SettingsOfParts, place_of, reconfigure
from crawler.testing.loops import in_virtual_time
from crawler.wiring.configuration import load

ON_MACHINES = ClusterPlace(
    crawl="c", url="redis://127.0.0.1:1/0", prefix="onceover", lease_s=30.0, configuration_version=1
)


def test_a_part_on_another_machine_is_named_by_that_machine_and_not_by_a_path_here(tmp_path: Path) -> None:
    here, elsewhere = Layout.begin(2).directories(tmp_path)
    here.mkdir()
    layout = msgspec.structs.replace(Layout.begin(2), cluster=ON_MACHINES)
    assert place_of(0, layout, tmp_path, "host-a:17:cafe") == str(here)
    assert place_of(1, layout, tmp_path, "host-b:18:beef") == "on host-b:18:beef"
    assert place_of(1, layout, tmp_path, None) == "on another machine"
    assert place_of(1, Layout.begin(2), tmp_path, None) == str(elsewhere)


@in_virtual_time
async def test_a_change_does_not_wait_for_ever_for_a_part_that_is_being_opened(tmp_path: Path) -> None:
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    plan = Plan(loaded=loaded, directory=CrawlDirectory(tmp_path), layout=Layout.begin(2))
    coordinator = Coordinator(plan, tell=lambda _: None)
    await coordinator.given.openings.begin(1)
    coordinator.parts[0].is_open = True
    change = Set(settings=["politeness.min_delay_s=2"])
    for is_restart in (False, True):
        if is_restart:
            coordinator.all_open.set()
        reply = await reconfigure(coordinator, SettingsOfParts(coordinator), change)
        assert isinstance(reply, Refusal)
        assert reply.message == "nothing was changed: part 1 of the crawl is still being opened; try again later"
    await coordinator.given.openings.begin(0)  # parts may start again


@pytest.mark.parametrize(
    ("before", "change", "why"),
    [
        ({}, "limits.pages=9", "its parts count pages together"),
        ({"limits.pages": 9}, "limits.pages=", "its parts count pages together"),
        ({}, "politeness.per_ip=1", ""),
        ({}, "fetch.user_agent=us/2.0 (us@our.site)", "sites and their robots.txt know the crawl by it"),
    ],
    ids=["first limit", "no limit", "addresses", "user agent"],
)
@in_virtual_time
async def test_what_holds_from_the_next_start_is_refused_while_many_machines_run(
    tmp_path: Path, before: dict[str, object], change: str, why: str
) -> None:
    """A process that starts meanwhile would begin with it, and neither the other parts nor the coordinator would."""
    key = change.partition("=")[0]
    reply = await _changed(tmp_path, before, change, cluster=ON_MACHINES)
    assert isinstance(reply, Refusal)
    assert reply.message.startswith(
        f"nothing was changed: {key} can't change while machines run the crawl, because {why}"
    )
    assert "`onceover cluster stop` ends the run on all machines" in reply.message
    alone = await _changed(tmp_path, before, change, cluster=None)
    assert isinstance(alone, Reconfigured)
    assert [each.holds for each in alone.changes] == ["restart"]


@pytest.mark.parametrize("change", ["limits.pages=20", "politeness.min_delay_s=2"])
@in_virtual_time
async def test_what_can_hold_at_once_changes_while_many_machines_run(tmp_path: Path, change: str) -> None:
    reply = await _changed(tmp_path, {"limits.pages": 9}, change, cluster=ON_MACHINES)
    assert isinstance(reply, Reconfigured)
    assert [each.holds for each in reply.changes] == ["now"]


async def _changed(
    folder: Path, before: dict[str, object], change: str, *, cluster: ClusterPlace | None
) -> Reconfigured | Refusal:
    """The answer to a change that is only tried, of a crawl whose parts are open."""
    given = {"crawl.seeds": ["http://a.test/"], **before}
    loaded = load(None, options={name: ("a test", value) for name, value in given.items()}, environ={})
    directory = CrawlDirectory(folder)
    directory.configuration.write_text(render_toml(loaded.lasting))
    layout = msgspec.structs.replace(Layout.begin(2), cluster=cluster)
    plan = Plan(loaded=loaded, directory=directory, layout=layout)
    coordinator = Coordinator(plan, tell=lambda _: None)
    coordinator.all_open.set()
    return await reconfigure(coordinator, SettingsOfParts(coordinator), Set(settings=[change], dry_run=True))


@in_virtual_time
async def test_on_many_machines_a_part_that_is_away_keeps_all_from_changing(tmp_path: Path) -> None:
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    layout = msgspec.structs.replace(Layout.begin(3), cluster=ON_MACHINES)
    plan = Plan(loaded=loaded, directory=CrawlDirectory(tmp_path), layout=layout)
    coordinator = Coordinator(plan, tell=lambda _: None)
    settings = ClusterSettings(coordinator, Register(None, prefix="test", generation="g"), 1, lambda *_: None)
    for away, told in (([1], "part 1"), ([0, 1], "parts 0, 1")):
        for number, part in enumerate(coordinator.parts):
            part.is_open = number not in away
        reply = await settings.change(["politeness.min_delay_s=2"], dry_run=False)
        assert isinstance(reply, Refusal)
        assert reply.message.startswith(f"nothing was changed: {told} can't be reached")
