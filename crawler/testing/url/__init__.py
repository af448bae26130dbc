"""What every canonical rule promises, as a suite of tests.

    class TestMyRule(CanonicalRuleContract):
        descriptor = DESCRIPTOR

A rule without a descriptor overrides `make_rule`.
"""
