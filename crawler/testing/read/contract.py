"""The suites as a whole."""

from crawler.testing.read.links import LinkTests
from crawler.testing.read.metadata import MetadataTests
from crawler.testing.read.robustness import RobustnessTests
from crawler.testing.read.styles import StyleTests
from crawler.testing.read.syntax import SyntaxTests


class LinkExtractorContract(RobustnessTests):
    """What every link extractor promises, whatever it reads."""


class HtmlExtractorContract(LinkTests, StyleTests, MetadataTests, SyntaxTests, RobustnessTests):
    """What an extractor of HTML promises, whatever parses it."""
