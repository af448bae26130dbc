"""What a page says about itself."""

import pytest

from crawler.testing.read.suite import HtmlExtractorSuite


class MetadataTests(HtmlExtractorSuite):
    """Title, author, description, abstract, language, base and robots directives."""

    def test_metadata_is_read_from_the_head(self) -> None:
        extract = self.read(
            "<html lang=de-AT><title> A\n title </title><meta name=Author content=' Ada  L. '>"
            "<meta name=description content='What it\nis about.'><link rel=canonical href=../c><p>Text.",
        )
        assert extract.title == "A title"
        assert extract.author == "Ada L."
        assert extract.description == extract.abstract == "What it is about."
        assert extract.language == "de-AT"
        assert extract.canonical == "https://example.org/c"

    def test_open_graph_stands_in_for_what_is_missing(self) -> None:
        extract = self.read("<meta property=og:title content=T><meta property=og:description content=D><p>Text.")
        assert (extract.title, extract.description, extract.abstract) == ("T", "D", "D")

    def test_an_author_is_a_name_and_no_url(self) -> None:
        profile = "<meta property=article:author content='https://social.example/the-paper'>"
        assert self.read(f"{profile}<p>x").author is None
        assert self.read(f"{profile}<meta name=DC.Creator content='B. C.'><p>x").author == "B. C."
        assert self.read("<meta property=article:author content='D. E.'><p>x").author == "D. E."

    def test_the_abstract_is_the_first_sentences_of_a_page_without_description(self) -> None:
        html = (
            "<script>var p = 1</script><h1>H</h1><p> </p><p>One  is first.</p><p>Two <i>is</i> second.</p><p>"
            + "x " * 500
        )
        extract = self.read(html)
        assert extract.description is None
        assert extract.abstract is not None
        assert extract.abstract.startswith("One is first. Two is second. x x")
        assert len(extract.abstract) <= 301

    @pytest.mark.parametrize("around", ["aside", "footer", "header", "nav"])
    def test_what_stands_beside_the_content_is_no_abstract(self, around: str) -> None:
        beside = f"<{around}><div><p>Skip &eacute; <i>it</i>.<p>Menu.</div></p></{around}>"
        assert self.read(f"{beside}<p>One.</p>{beside}<p>Two.").abstract == "One. Two."
        assert self.read(beside).abstract is None

    def test_scripts_and_style_sheets_are_no_text(self) -> None:
        hidden = "<style>.a{}</style><svg><style>.b{}</style></svg><script>var c = '<'</script>"
        assert self.read(f"<p>One {hidden}two.<p>{hidden}<p>Three.").abstract == "One two. Three."
        found = self.read(f"<a href=x>{hidden}<b>four {hidden}five</b></a><p>{hidden}<a href=y>{hidden}</a>")
        assert ([link.text for link in found.links], found.abstract) == (["four five", ""], None)

    def test_an_svg_title_is_not_the_pages(self) -> None:
        assert self.read("<body><svg><title>icon</title></svg><p>x").title is None
        shapes = "<polygon points='0,0'><title>a</title></polygon><linearGradient><title>b</title></linearGradient>"
        assert self.read(f"<body><svg><g>{shapes}</g></svg><p>x").title is None
        assert self.read("<body><svg><a xlink:href=x><title>a</title></a></svg><p>x").title is None

    def test_the_first_base_decides_wherever_it_stands(self) -> None:
        extract = self.read("<base target=_top><a href=x>x</a><base href=../b/><base href=/c/>")
        assert extract.base_url == "https://example.org/b/"
        assert self.read("<base href=''><base href=/b/>").base_url == "https://example.org/a/page.html"

    @pytest.mark.parametrize("base", ["javascript:x", "http://[", "data:,"])
    def test_a_base_that_is_no_web_address_is_ignored(self, base: str) -> None:
        assert self.read(f"<base href='{base}'><a href=x>x</a>").base_url == "https://example.org/a/page.html"

    @pytest.mark.parametrize("base", ["ftp://e.org/b/", "file:///b/", "mailto:x"])
    def test_links_relative_to_a_base_beyond_the_web_lead_beyond_it(self, base: str) -> None:
        html = f"<base href='{base}'><link rel=canonical href=c><a href=x>x</a><a href=https://e.org/y>y</a>"
        extract = self.read(f"{html}<iframe srcdoc='<a href=/z>z</a>'></iframe>")
        assert [link.href for link in extract.links] == [base, base, "https://e.org/y", base]
        assert (extract.base_url, extract.canonical) == ("https://example.org/a/page.html", None)
        within = f"<base href={base}><a href=x>x</a><iframe srcdoc=&quot;<a href=/z>z</a>&quot;></iframe>"
        extract = self.read(f'<iframe srcdoc="{within}<a href=https://e.org/y>y</a>"></iframe><a href=x>x</a>')
        assert [link.href for link in extract.links] == [base, base, "https://e.org/y", "x"]

    def test_a_base_that_is_longer_than_any_url_is_ignored(self) -> None:
        # Each href would have to be joined to all of it.
        html = f"<base href='https://e.org/{'x' * 20_000}/'><a href=x>x</a>"
        assert self.read(html).base_url == "https://example.org/a/page.html"

    def test_robots_directives_for_all_and_for_this_agent_are_read(self) -> None:
        assert not self.read("<meta name=robots content=all>").noindex
        extract = self.read("<meta name=ROBOTS content='NoIndex'><meta name=otherbot content=nofollow><a href=x>x</a>")
        assert (extract.noindex, extract.nofollow) == (True, False)
        assert extract.links[0].rel == ""
        extract = self.read("<a href=x rel=me>x</a><meta name=onceover content=none>")
        assert (extract.noindex, extract.nofollow) == (True, True)
        assert extract.links[0].rel == "me nofollow"

    def test_a_paragraph_that_is_left_open_ends_with_the_next(self) -> None:
        assert self.read("<p>One <b>and</b> a half.<p>Two.<p>Three.").abstract == "One and a half. Two. Three."
