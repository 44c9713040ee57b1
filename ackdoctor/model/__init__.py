"""The data types that all packages share, and the errors that a user can cause and correct.

    AckdoctorError
    ├── ConfigError     an unknown or invalid setting; names the file and the key
    ├── RulebookError   an invalid rule page; names the page and the line
    ├── BaselineError   an invalid baseline file
    └── UsageError      an invalid command line

An unreadable input file is not an exception but an `Unreadable` in the report.  Start with `protocol`, the table of the
acking protocol; `finding` is the result of every command.
"""


class AckdoctorError(Exception):
    """Base class; the command line prints the message in one line and exits with 2."""


class ConfigError(AckdoctorError):
    """An unknown setting, or a setting with an invalid value."""


class RulebookError(AckdoctorError):
    """A rule page that cannot be parsed."""


class BaselineError(AckdoctorError):
    """A baseline file that ackdoctor did not write."""


class UsageError(AckdoctorError):
    """An invalid combination of arguments, or a path that does not exist."""
