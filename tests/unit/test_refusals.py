"""That every refused link can be told with its reason."""

from crawler.testing.loops import in_virtual_time
from tests.unit.crawling import SEED, Rig, Site, page, redirect


@in_virtual_time
async def test_each_refused_link_is_written_with_its_reason_when_it_is_asked_for() -> None:
    deep, moved = "http://a.test/x/x/x/x/", "http://a.test/moved"
    site: Site = {SEED: page(SEED, [deep, "mailto:a@b.test", moved]), moved: redirect(moved, "mailto:c@d.test")}
    for wanted in (True, False):
        rig = Rig(site)
        engine = await rig.run(refusals=wanted)
        told = {record.url: record.refusals for record in rig.sink.records if record.refusals}
        assert told == (
            {
                SEED: [(deep, "repeated-segments"), ("mailto:a@b.test", "scheme")],
                moved: [("mailto:c@d.test", "scheme")],
            }
            if wanted
            else {}
        )
        assert engine.counters.refused == {"repeated-segments": 1, "scheme": 2}
