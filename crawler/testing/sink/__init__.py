"""What every sink promises, as a suite of tests.

class TestMySink(SinkContract):
    def open_sink(self, directory: Path) -> Sink:
        return MySink(directory / "pages.db")

    def read_numbers(self, directory: Path) -> list[int]:
        return my_package.read_numbers(directory / "pages.db")
"""
