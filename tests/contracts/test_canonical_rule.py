"""The promises of every canonical rule, kept by ours."""

import pytest

from crawler.testing import CanonicalRuleContract
from crawler.url.canonical import canonicalizer
from crawler.url.canonical_rules import DEFAULT_RULES, RULES
from crawler.url.components import Rule


class TestNamedRules(CanonicalRuleContract):
    @pytest.fixture(autouse=True, params=RULES)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.rules = (str(request.param),)

    def make_rule(self) -> Rule:
        return canonicalizer(self.rules)


class TestDefaultRules(CanonicalRuleContract):
    def make_rule(self) -> Rule:
        return canonicalizer(DEFAULT_RULES)


class TestOwnRule(CanonicalRuleContract):
    def make_rule(self) -> Rule:
        return canonicalizer(["[?&]view=[a-z]+ => "])
