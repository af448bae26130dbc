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
