"""What is said when settings can't be changed."""

from pathlib import Path

import msgspec

from crawler.disk.layout import ClusterPlace, Layout
from crawler.supervise.settings import place_of

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
