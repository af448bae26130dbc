import msgspec

from crawler.wiring.recovery.facts import Fact, Facts, Source


def test_a_rendered_page_whose_received_body_is_archived_elsewhere_has_its_own_document() -> None:
    facts = Facts()
    for source in (Source.LEDGER, Source.RECORDS):
        facts.add(source, [Fact(1, "http://a.test/", state="done", status=200, digest="of the document")])
    facts.add_payload("as received", "without coding")
    facts.add(Source.ARCHIVE, [Fact(1, "http://a.test/", payload="as received")])
    facts.replace_archived_digest(1, "of the document")
    facts.resolve_payloads()
    assert list(facts.disagreements(Source.ARCHIVE, among=Source.RECORDS)) == []
    facts.close()


def test_a_sink_that_keeps_no_digests_contradicts_nothing_and_lacks_nothing() -> None:
    facts = Facts()
    told = [Fact(number, f"http://a.test/{number}", "done", 200, digest=f"sha1:{number}") for number in range(5)]
    for source in (Source.LEDGER, Source.RECORDS):
        facts.add(source, told)
    of_sink = [msgspec.structs.replace(each, digest=None) for each in told[:3]]
    of_sink.append(msgspec.structs.replace(told[3], status=404, digest=None))
    facts.add(Source.FIRST_SINK, of_sink)
    found = [each.number for each in facts.disagreements(Source.FIRST_SINK, among=Source.RECORDS)]
    assert (found, facts.note_wanted(Source.FIRST_SINK)) == ([3], 2)
    assert [number for number in range(5) if facts.is_wanted(Source.FIRST_SINK, number)] == [3, 4]
    facts.close()
