"""Numbers that know how they were found and how exact they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Evaluation"]


class Evaluation(float):
    """A number with its error and its method.

    It is a `float`, so that one can calculate with it; the result is a plain `float`, since nobody knows the error of it.

    >>> privacy = Evaluation({"metric": "s_mu", "n": None, "value": 0.89, "error": 1e-15, "method": "quadrature"})
    >>> privacy.error, privacy.method
    (1e-15, 'quadrature')
    >>> 1 - privacy
    0.10999999999999999

    A metric that does not exist is not a number, and says why:

    >>> Evaluation({"value": None, "reason": "the protocol is not faithful"})
    Evaluation(nan, reason='the protocol is not faithful')
    """

    value: float | int | bool | None
    """The value as the job's report has it: also a count, or True or False; None if there is none."""

    error: float | None
    """A bound on the absolute error or, if the method is ``monte_carlo``, the standard error."""

    method: str | None
    """How it was found, such as ``quadrature``."""

    reason: str | None
    """Why there is no value."""

    facts: dict[str, Any]
    """All that the job's report says about it."""

    def __new__(cls, facts: Mapping[str, Any]) -> Evaluation:
        value = facts.get("value")
        number = super().__new__(cls, "nan" if value is None else value)
        number.value = float(number) if isinstance(value, str) else value
        error = facts.get("error")
        number.error = None if error is None else float(error)
        number.method, number.reason = facts.get("method"), facts.get("reason")
        number.facts = dict(facts)
        return number

    @property
    def n(self) -> int | None:
        """The number of users; None for what does not depend on it."""
        return self.facts.get("n")

    @property
    def warning(self) -> str | None:
        """Something to keep in mind when reading the value."""
        return self.facts.get("warning")

    def __repr__(self) -> str:
        if self.reason is not None:
            return f"Evaluation(nan, reason={self.reason!r})"
        return f"Evaluation({self.value!r}, error={self.error!r}, method={self.method!r})"

    def __str__(self) -> str:
        return repr(self.value) if self.value is not None else "nan"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Evaluation, (self.facts,))
