"""Commands that run in this process, because the start of another takes longer than most of them."""

from click.testing import CliRunner, Result

from crawler.cli import onceover


def invoke(*arguments: object, given: str | None = None) -> Result:
    """Run a command, with `given` as its standard input. Raises what the command raises."""
    command = [str(each) for each in arguments]
    return CliRunner().invoke(onceover, command, input=given, standalone_mode=False, catch_exceptions=False)
