"""What is wrong with a command."""


class CommandError(Exception):
    """Ends a command with one sentence and exit code 2."""
