"""Protocols."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from . import _native
from ._columns import Packed, prepared
from ._running import encode
from .errors import InvalidInput

if TYPE_CHECKING:
    from ._report import JobReport, Metrics
    from ._tally import Tally

__all__ = [
    "Protocol",
    "blh",
    "block",
    "composition",
    "deterministic",
    "erasure",
    "grr",
    "identity",
    "lh",
    "matrix",
    "mixture",
    "oue",
    "product",
    "protocol",
    "rappor",
    "subset",
    "ue",
]


class Protocol:
    """The published rule by which a value becomes a report.

    It is made by `grr`, `oue` and the like, or from a specification as the command line takes it (`protocol`).

    >>> import sottovoce as sv
    >>> q = sv.grr(["red", "green", "blue"], 1)
    >>> q
    Protocol({"kind":"grr","a":3,"epsilon":1.0,"labels":["red","green","blue"]})
    >>> q.labels
    ['red', 'green', 'blue']
    >>> q.randomise_one("red") in range(3)
    True
    """

    def __init__(self, specification: str | Mapping[str, Any]) -> None:
        if not isinstance(specification, (str, Mapping)):
            raise TypeError(f"a protocol is a dictionary or a text, not a {type(specification).__name__}")
        if isinstance(specification, str) and specification.lstrip().startswith("{"):
            self._native = _native.Protocol(specification.strip())
        else:
            self._native = _native.Protocol(encode(specification))

    @property
    def specification(self) -> dict[str, Any]:
        """The specification, with all sizes filled in."""
        found: dict[str, Any] = json.loads(self._native.specification)
        return found

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the canonical specification, by which files know the protocol."""
        return self._native.fingerprint

    @property
    def a(self) -> int:
        """The number of values."""
        return self._native.inputs

    @property
    def labels(self) -> list[str]:
        """The names of the values: labels, or the numbers from 0."""
        return self._native.labels

    @property
    def realised_ldp(self) -> float:
        """The exact LDP level of the reports as they are drawn."""
        return self._native.realised_ldp

    @property
    def report_bytes(self) -> int:
        """The number of bytes of every report."""
        return self._native.report_bytes

    def randomise(
        self,
        values: Any,
        *,
        column: str | None = None,
        on_error: str = "stop",
        insecure_test_seed: int | None = None,
    ) -> _native.Reports:
        """Reports on a column of values, drawn with the operating system's randomness.

        ``values`` is a column of pandas, Polars, pyarrow or DuckDB, or a table of them of which ``column`` names one; a numpy array; or a list. Values are labels or,
        if the protocol has none, the numbers from 0. ``on_error="skip"`` leaves out what is neither. A seed makes the reports predictable: it is for tests only.

        >>> import sottovoce as sv
        >>> reports = sv.oue(4, 1).randomise([0, 3, 3])
        >>> len(reports)
        3
        """
        if on_error not in ("stop", "skip"):
            raise InvalidInput("on_error is not one of stop and skip", path="on_error")
        values, column = prepared(values, column)
        if isinstance(values, Packed):
            raise TypeError("a column of values has texts or numbers, not bytes")
        seed = None if insecure_test_seed is None else _seed(insecure_test_seed)
        return self._native.randomise(values, column=column, skip=on_error == "skip", insecure_test_seed=seed)

    def randomise_one(self, value: Any) -> int | bytes:
        """A report on one value, as a client draws it: a number, or bytes where a report is more than that."""
        return self._native.randomise_one(value)

    def tally(self, reports: Any = None, *, column: str | None = None, form: str = "auto") -> Tally:
        """A new tally of this protocol, of these reports if there are any."""
        from ._tally import Tally

        tally = Tally(self, form=form)
        return tally if reports is None else tally.update(reports, column=column)

    def metrics(self, **settings: Any) -> Metrics:
        """How private and how useful the protocol is; see `sottovoce.metrics`."""
        from ._jobs import metrics

        return metrics(self, **settings)

    def describe(self) -> JobReport:
        """What the protocol is; see `sottovoce.describe`."""
        from ._jobs import describe

        return describe(self)

    def split(self, n: int, **settings: Any) -> JobReport:
        """The information split at n users; see `sottovoce.split`."""
        from ._jobs import split

        return split(self, n, **settings)

    def users(self, **settings: Any) -> JobReport:
        """How many users are needed; see `sottovoce.users`."""
        from ._jobs import users

        return users(self, **settings)

    def accuracy(self, n: int | Sequence[int], **settings: Any) -> JobReport:
        """How far estimates are off; see `sottovoce.accuracy`."""
        from ._jobs import accuracy

        return accuracy(self, n, **settings)

    def __sottovoce_json__(self) -> str:
        return self._native.specification

    def __repr__(self) -> str:
        return f"Protocol({self._native.specification})"

    def _repr_html_(self) -> str:
        return self.describe()._repr_html_()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Protocol):
            return NotImplemented
        return self._native.specification == other._native.specification

    def __hash__(self) -> int:
        return hash(self._native.specification)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Protocol, (self._native.specification,))


def _seed(seed: Any) -> int:
    import operator

    number = operator.index(seed)
    if not 0 <= number < 1 << 64:
        raise InvalidInput("a seed is a whole number of 0 or more, below 2^64", path="insecure_test_seed")
    return number


def protocol(specification: str | Mapping[str, Any]) -> Protocol:
    """The protocol that a shorthand, JSON or a dictionary says. No file is opened.

    >>> import sottovoce as sv
    >>> sv.protocol("oue:a=3,eps=1") == sv.oue(3, 1)
    True
    """
    return Protocol(specification)


def _of(kind: str, a: int | Sequence[str] | None, labels: Sequence[str] | None, **fields: Any) -> Protocol:
    if a is not None and not hasattr(a, "__index__"):
        if labels is not None or isinstance(a, (str, float)) or not hasattr(a, "__len__"):
            raise TypeError("a is the number of values, or the list of their labels")
        a, labels = None, list(cast(Sequence[str], a))
    if a is None:
        if labels is None:
            raise TypeError("the number of values is missing: give a or labels")
        a = len(labels)
    if fields.get("epsilon", 0) is None:
        raise TypeError("epsilon is missing: the LDP level, for which there is no usual value")
    given = {"kind": kind, "a": a, **fields, "labels": None if labels is None else list(labels)}
    return Protocol({key: value for key, value in given.items() if value is not None})


_Values = int | Sequence[str]


def identity(a: _Values | None = None, *, labels: Sequence[str] | None = None) -> Protocol:
    """Tells the truth."""
    return _of("identity", a, labels)


def grr(a: _Values | None = None, epsilon: float | None = None, *, labels: Sequence[str] | None = None) -> Protocol:
    """Generalised randomised response on a values, or on the values with these labels."""
    return _of("grr", a, labels, epsilon=epsilon)


def ue(a: _Values | None = None, *, kappa: float, lambda_: float, labels: Sequence[str] | None = None) -> Protocol:
    """Unary encoding: the true bit is set with probability kappa, each other bit with probability lambda."""
    return _of("ue", a, labels, kappa=kappa, **{"lambda": lambda_})


def rappor(a: _Values | None = None, epsilon: float | None = None, *, labels: Sequence[str] | None = None) -> Protocol:
    """Basic RAPPOR: unary encoding that flips all bits equally often."""
    return _of("rappor", a, labels, epsilon=epsilon)


def oue(a: _Values | None = None, epsilon: float | None = None, *, labels: Sequence[str] | None = None) -> Protocol:
    """Optimised unary encoding."""
    return _of("oue", a, labels, epsilon=epsilon)


def blh(a: _Values | None = None, epsilon: float | None = None, *, labels: Sequence[str] | None = None) -> Protocol:
    """Binary local hash, as a unary encoding."""
    return _of("blh", a, labels, epsilon=epsilon)


def lh(
    a: _Values | None = None, epsilon: float | None = None, *, g: int | None = None, labels: Sequence[str] | None = None
) -> Protocol:
    """Local hash into g buckets; without g, as many as are best for the asymptotic utility."""
    return _of("lh", a, labels, g=g, epsilon=epsilon)


def subset(
    a: _Values | None = None, epsilon: float | None = None, *, k: int | None = None, labels: Sequence[str] | None = None
) -> Protocol:
    """Selection of a subset of size k; without k, of the best size for the asymptotic utility."""
    return _of("subset", a, labels, k=k, epsilon=epsilon)


def block(
    a: _Values | None = None,
    epsilon: float | None = None,
    *,
    v: int | None = None,
    k: int | None = None,
    labels: Sequence[str] | None = None,
) -> Protocol:
    """Selection of one of v blocks of k values, the shifts of a difference set; sizes that are left out are the best."""
    return _of("block", a, labels, v=v, k=k, epsilon=epsilon)


def erasure(a: _Values | None = None, *, reveal: float, labels: Sequence[str] | None = None) -> Protocol:
    """The truth with probability ``reveal``, else a blank."""
    return _of("erasure", a, labels, reveal=reveal)


def deterministic(map: Sequence[int], *, labels: Sequence[str] | None = None) -> Protocol:
    """Reports ``map[x]`` for value x."""
    return _combined("deterministic", labels, map=map)


def matrix(rows: Any, *, labels: Sequence[str] | None = None) -> Protocol:
    """Any protocol: ``rows[y][x]`` is the probability of output y given value x.

    >>> import sottovoce as sv
    >>> sv.matrix([[0.75, 0.25], [0.25, 0.75]], labels=["no", "yes"]).metrics(metric="rank")["rank"].value
    2
    """
    return _combined("matrix", labels, rows=rows)


def composition(steps: Sequence[Protocol], *, labels: Sequence[str] | None = None) -> Protocol:
    """One protocol after another."""
    return _combined("composition", labels, steps=steps)


def product(factors: Sequence[Protocol], *, labels: Sequence[str] | None = None) -> Protocol:
    """Several protocols on the same value, all reported together."""
    return _combined("product", labels, factors=factors)


def mixture(weights: Sequence[float], parts: Sequence[Protocol], *, labels: Sequence[str] | None = None) -> Protocol:
    """One of several protocols, drawn with these probabilities and named in the report."""
    return _combined("mixture", labels, weights=weights, parts=parts)


def _combined(kind: str, labels: Sequence[str] | None, **fields: Any) -> Protocol:
    given = {"kind": kind, **fields, "labels": None if labels is None else list(labels)}
    return Protocol({key: value for key, value in given.items() if value is not None})
