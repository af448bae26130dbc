"""Tables on stdout."""

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from crawler.cli.run.terminal import results_console, table_console


def test_no_line_of_a_table_ends_with_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("host", "URLs", "", box=None, pad_edge=False)
    table.add_row("a.test", "1", "")
    table.add_row("b.test", "23", "retired")
    table.add_row("", "", "")
    expected = "host    URLs\na.test  1\nb.test  23    retired\n\n"
    for console in (results_console(), table_console()):
        console.print(table)
        assert capsys.readouterr().out == expected
        console.print(Group(Text("two hosts  "), table, Text("")))
        assert capsys.readouterr().out == f"two hosts\n{expected}\n"
