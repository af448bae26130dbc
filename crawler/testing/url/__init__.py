"""What every canonical rule promises, as a suite of tests.

class TestMyRule(CanonicalRuleContract):
    def make_rule(self) -> Rule:
        return my_package.drop_print_view
"""
