from drop_parameters import DESCRIPTOR

from crawler.testing import CanonicalRuleContract


class TestDropParameters(CanonicalRuleContract):
    descriptor = DESCRIPTOR
    options = {"names": ["a", "b", "utm_id"]}
