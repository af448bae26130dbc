"""What every visited set promises, as a suite of tests.

    class TestMySet(VisitedSetContract):
        descriptor = DESCRIPTOR

A set that errs is made for a rate so low that it errs in no test. If the options of yours can't reach that, raise its
`capacity`. A set without a descriptor overrides `make_set`.
"""
