"""What link extractors promise, as suites of tests.

    class TestMyExtractor(LinkExtractorContract):
        descriptor = DESCRIPTOR

`LinkExtractorContract` holds for an extractor of whatever: it never raises, and it keeps no state. One that reads HTML
with all its links, as those of this project do, has `HtmlExtractorContract`. An extractor without a descriptor
overrides `make_extractor`.
"""
