"""The exceptions a user can cause.

    AckdoctorError
    ├── ConfigError     a setting that cannot be: names file and key
    ├── RulebookError   a rule page that cannot be read: names page and line
    ├── BaselineError   a baseline that cannot be read
    └── UsageError      a command line that cannot be meant

An input file that cannot be read is not an exception: it is an `Unreadable` in the report.
"""

__all__ = ["AckdoctorError", "BaselineError", "ConfigError", "RulebookError", "UsageError"]


class AckdoctorError(Exception):
    """Something the user can mend; the command line prints it in one line and exits with 2."""


class ConfigError(AckdoctorError):
    """A setting that is unknown or has a wrong value."""


class RulebookError(AckdoctorError):
    """A rule page that does not parse."""


class BaselineError(AckdoctorError):
    """A baseline file that is not one of ours."""


class UsageError(AckdoctorError):
    """A combination of arguments that has no meaning, or a path that does not exist."""
