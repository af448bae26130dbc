"""What the formula of a visited set of others tells wrongly is named, with the plug-in."""

import pytest

from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.kinds import VISITED
from crawler.wiring.plugins.loading import PluginRefused
from tests.unit.plugins.installing import SETS, Site
from visited.advice import options


@pytest.mark.parametrize(
    ("cost", "why"),
    [
        ("12", "TypeError: expected a Cost, found int"),
        ("None", "TypeError: expected a Cost, found NoneType"),
        ("Cost(memory_bytes=float('nan'))", "expected memory_bytes to be 0 or more, found nan"),
        ("Cost(memory_bytes=float('inf'))", "expected memory_bytes to be 0 or more, found inf"),
        ("Cost(memory_bytes=1, disk_bytes=-1)", "expected disk_bytes to be 0 or more, found -1"),
        ("Cost(memory_bytes=1, false_positive_rate=1.5)", "expected false_positive_rate to be 0 to 1, found 1.5"),
        ("Cost(memory_bytes='1 MB')", "TypeError: '<=' not supported between instances of 'int' and 'str'"),
    ],
)
def test_a_formula_that_tells_no_cost_is_refused_by_name(site: Site, cost: str, why: str) -> None:
    code = (
        SETS
        + f"""
    from visited.descriptor import Cost

    ODD = msgspec.structs.replace(DESCRIPTOR, cost=lambda *_: {cost})
"""
    )
    site.add("odd-sets", "odd_sets", code, entries={"visited.odd": "odd_sets:ODD"})
    with pytest.raises(PluginRefused) as refused:
        options(1000, 0.01, among=[descriptor(VISITED, "odd")])
    assert str(refused.value) == f'the visited set "odd" of odd-sets 1.0 can\'t tell its cost: {why}'
