"""What can go wrong.

Every error is a `ValueError` of the class `SottovoceError`. It says which field is wrong (``path``) and what to try (``hint``), and never quotes a value that
somebody wanted to keep private: a value outside the domain is named by its row.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "FileError",
    "Interrupted",
    "InvalidInput",
    "NotConverged",
    "SottovoceError",
    "Stopped",
    "TimeOver",
    "Unsupported",
]


class SottovoceError(ValueError):
    """Something that sottovoce refuses or could not do."""

    path: str | None
    """The field that is wrong, such as ``parts[1].epsilon``; None if it is no single one."""

    hint: str | None
    """What to try, if there is a likely next step."""

    def __init__(self, message: str, *, path: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.path, self.hint = path, hint

    def __str__(self) -> str:
        message = str(self.args[0]) if self.args else ""
        return f"{message} ({self.hint})" if self.hint else message

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self.args, self.__dict__)


class InvalidInput(SottovoceError):
    """The input is wrong."""


class NotConverged(SottovoceError):
    """A computation gave up before it reached its accuracy."""


class Unsupported(SottovoceError):
    """The input is right, but beyond what we handle."""


class FileError(SottovoceError):
    """A file cannot be read or written."""


class Stopped(SottovoceError):
    """A computation was ended from outside."""


class TimeOver(SottovoceError):
    """The time limit was reached. ``report`` has the best results so far, if there are any."""

    report: Any

    def __init__(self, message: str, *, report: Any = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.report = report


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed. ``report`` has the best results so far, if there are any."""

    report: Any

    def __init__(self, message: str = "", *, report: Any = None, **_facts: Any) -> None:
        super().__init__(message)
        self.report = report
