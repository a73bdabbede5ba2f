"""The reports of jobs."""

from __future__ import annotations

import csv
import html
import io
import json
import shutil
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import _native
from ._evaluation import Evaluation
from ._protocol import Protocol
from ._running import native_report

__all__ = ["Estimate", "Frontier", "JobReport", "Metrics", "run"]


class JobReport:
    """What a job answers: the data of ``--format json``, and every other form that the command line has.

    ``report["key"]`` is a part of the data; ``print(report)`` shows it as text, a notebook as a page; `to_pandas`, `to_polars` and `to_arrow` make a table of it.
    """

    def __init__(self, native: Any, request: Mapping[str, Any]) -> None:
        self._native = native
        self._request = dict(request)
        self._data: dict[str, Any] | None = None

    @property
    def job(self) -> str:
        """The name of the job."""
        return str(self._native.job)

    @property
    def data(self) -> dict[str, Any]:
        """The report as JSON has it, in dictionaries and lists."""
        if self._data is None:
            self._data = json.loads(self._native.json())
        return self._data

    def __getitem__(self, key: Any) -> Any:
        return self.data[key]

    def keys(self) -> list[str]:
        """The keys of the data."""
        return list(self.data)

    @property
    def protocol(self) -> Protocol:
        """The protocol that the report is about, recommends or found."""
        found = self.data.get("protocol") or (self.data.get("best") or {}).get("protocol")
        if found is None:
            raise AttributeError(f"a report of {self.job} is not about one protocol")
        return Protocol(found)

    def to_json(self) -> str:
        """What ``--format json`` prints."""
        return str(self._native.json())

    def to_csv(self) -> str:
        """What ``--format csv`` prints."""
        return str(self._native.csv())

    def to_html(self) -> str:
        """What ``--format html`` prints: a page that needs nothing else."""
        return str(self._native.html())

    def to_text(self, width: int = 80) -> str:
        """What the command line prints on a page of this width."""
        return str(self._native.text(width))

    def charts(self) -> list[str]:
        """The charts of the page, as SVG."""
        return list(self._native.charts())

    def columns(self) -> dict[str, list[Any]]:
        """The table of the report: names of columns, and their entries. Empty entries are None."""
        header, *rows = csv.reader(io.StringIO(self.to_csv()))
        return {name: _typed([row[place] for row in rows]) for place, name in enumerate(header)}

    def to_pandas(self) -> Any:
        """The table as a DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self.columns())

    def to_polars(self) -> Any:
        """The table as a DataFrame of Polars."""
        import polars

        return polars.DataFrame(self.columns())

    def to_arrow(self) -> Any:
        """The table as a pyarrow Table."""
        import pyarrow

        return pyarrow.table(self.columns())

    def __repr__(self) -> str:
        return self.to_text(shutil.get_terminal_size().columns).rstrip("\n")

    def _repr_html_(self) -> str:
        # The page has styles and a script of its own, which must not reach the notebook.
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:32em;border:0" title="{self.job}"></iframe>'

    def __reduce__(self) -> tuple[Any, ...]:
        rendered = Rendered(
            self.job, self.to_json(), self.to_csv(), self.to_html(), self.to_text(), self.charts(), self._native.draws()
        )
        return (type(self), (rendered, self._request))


class Rendered:
    """A report that came out of a pickle, in which it was rendered before."""

    def __init__(self, job: str, json: str, csv: str, html: str, text: str, charts: list[str], draws: Any) -> None:
        self.job = job
        self._json, self._csv, self._html, self._text = json, csv, html, text
        self._charts, self._draws = charts, draws

    def json(self) -> str:
        return self._json

    def csv(self) -> str:
        return self._csv

    def html(self) -> str:
        return self._html

    def text(self, _width: int) -> str:
        return self._text

    def charts(self) -> list[str]:
        return self._charts

    def draws(self) -> Any:
        return self._draws


_T = TypeVar("_T")


def _typed(entries: list[str]) -> list[Any]:
    """The entries of a column as whole numbers, numbers, or True and False if all of them are; else as texts."""
    filled = [entry for entry in entries if entry != ""]

    def all_as(read: Callable[[str], _T]) -> list[_T | None] | None:
        try:
            return [read(entry) if entry != "" else None for entry in entries]
        except (KeyError, ValueError):
            return None

    def whole(entry: str) -> int:
        if str(int(entry)) != entry:
            raise ValueError
        return int(entry)

    if not filled:
        return [None for _ in entries]
    truth = {"true": True, "false": False}.__getitem__
    return all_as(whole) or all_as(float) or all_as(truth) or [entry or None for entry in entries]


class Metrics(JobReport):
    """The report of ``metrics``: ``report["s_mu"]`` is a number with its error and method.

    >>> import sottovoce as sv
    >>> found = sv.grr(3, 1).metrics(n=[10, 100], metric=["s_mu", "u_digit"])
    >>> found["s_mu"].method
    'quadrature'
    >>> found["u_digit", 10].n
    10
    """

    def __getitem__(self, key: Any) -> Any:
        if key in self.data:
            return self.data[key]
        metric, n = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        named = [entry for entry in self.data["evaluations"] if entry["metric"] == metric]
        found = [entry for entry in named if n is None or entry["n"] == n]
        if len(found) == 1:
            return Evaluation(found[0])
        if not found:
            raise KeyError(f"{key}; there are {', '.join(dict.fromkeys(e['metric'] for e in self.data['evaluations']))}")
        raise KeyError(f"{metric} is there for n = {', '.join(str(e['n']) for e in found)}; ask for [{metric!r}, n]")

    @property
    def evaluations(self) -> list[Evaluation]:
        """All numbers, in the order of the report."""
        return [Evaluation(entry) for entry in self.data["evaluations"]]


class Estimate(JobReport):
    """The report of ``estimate``."""

    def plot(self, ax: Any = None, *, estimator: str | None = None) -> Any:
        """Draws the estimated shares with their intervals, and returns the Axes of matplotlib."""
        from ._plots import estimate

        return estimate(self, ax, estimator)


class Frontier(JobReport):
    """The report of ``frontier``: the best utility at each privacy."""

    def plot(self, ax: Any = None) -> Any:
        """Draws utility against privacy, and returns the Axes of matplotlib."""
        from ._plots import frontier

        return frontier(self, ax)


def wrapped(native: _native.JobReport, request: Mapping[str, Any]) -> JobReport:
    """The report of a job as the class that fits it."""
    from ._posterior import Posterior

    kind: type[JobReport] = {
        "metrics": Metrics,
        "posterior": Posterior,
        "estimate": Estimate,
        "design": Frontier if request.get("frontier") else JobReport,
    }.get(native.job, JobReport)
    return kind(native, request)


def run(request: Mapping[str, Any]) -> JobReport:
    """Does any job: the request is what ``sottovoce run`` takes.

    >>> import sottovoce as sv
    >>> sv.run({"job": "metrics", "protocol": "grr:a=16,eps=1", "metric": "ldp"})["ldp"]
    Evaluation(1.0, error=8.881784197001252e-16, method='closed_form')
    """
    if not isinstance(request, Mapping):
        raise TypeError(f"a request is a dictionary, not a {type(request).__name__}")
    return wrapped(native_report(request), request)
