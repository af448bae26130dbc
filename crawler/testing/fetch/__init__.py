"""What every fetcher and every reader of robots.txt promises, as suites of tests over servers on 127.0.0.1.

    class TestMyFetcher(FetcherContract):
        descriptor = DESCRIPTOR

A fetcher without a descriptor overrides `make_fetcher`.
"""
