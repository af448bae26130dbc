"""What every frontier promises, as a suite of tests.

    from crawler.testing import FrontierContract
    from my_package import DESCRIPTOR

    class TestMyFrontier(FrontierContract):
        descriptor = DESCRIPTOR

Each module has the tests of one part of the promise. They run in an event loop in which waiting takes no time, so the
frontier must take the time from the `clock` that it is given, and wait by means of asyncio.
"""
