"""A command that runs in this process, of which a test wants to know what it raises, or that runs in a thread. Whoever
runs one as people do, who see messages and an exit code, takes `tests.e2e.operating.command_here`."""

from click.testing import CliRunner, Result

from crawler.cli import onceover


def invoke(*arguments: object, given: str | None = None) -> Result:
    """Run a command, with `given` as its standard input. Raises what the command raises. It need not have succeeded:
    `return_value` is its exit code, while `exit_code` is always 0."""
    command = [str(each) for each in arguments]
    return CliRunner().invoke(onceover, command, input=given, standalone_mode=False, catch_exceptions=False)
