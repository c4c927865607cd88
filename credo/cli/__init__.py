"""The command line: one file a command. Each is imported when it is run, so that `credo --help` is instant."""

from credo.cli.group import main

__all__ = ["main"]
