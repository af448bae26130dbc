from drop_parameters import DESCRIPTOR, Options

from crawler.testing import CanonicalRuleContract
from crawler.url.components import Rule


class TestDropParameters(CanonicalRuleContract):
    def make_rule(self) -> Rule:
        return DESCRIPTOR.make(Options(names=("a", "b", "utm_id")))
