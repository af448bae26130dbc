"""What every sink promises, as a suite of tests.

    class TestMySink(SinkContract):
        descriptor = DESCRIPTOR

        def read_numbers(self, directory: Path) -> list[int]:
            return my_package.read_numbers(directory / "pages.db")

A sink without a descriptor overrides `open_sink`. So does one on a server, and also `read_written` if its output can be
read back. The suite calls `begin` of a sink that has it.
"""
