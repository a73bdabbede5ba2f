"""Plots, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._posterior import Posterior
    from ._report import Estimate, Frontier


def _axes(ax: Any, rows: int) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6.4, max(2.0, 0.8 + 0.3 * rows)), layout="constrained")[1]


def _ranges(ax: Any, labels: list[str], middles: Any, lows: Any, highs: Any, title: str) -> Any:
    ax = _axes(ax, len(labels))
    rows = range(len(labels))
    ax.hlines(rows, lows, highs, linewidth=2)
    ax.plot(middles, rows, "o")
    ax.set_yticks(rows, labels)
    ax.invert_yaxis()
    ax.set_xlabel("share")
    ax.set_title(title)
    return ax


def posterior(report: Posterior, ax: Any) -> Any:
    ends = report.interval()
    title = f"posterior of {report.n} reports, {100 * report.data['level']:g} % intervals"
    return _ranges(ax, report.labels, report.mean, ends[:, 0], ends[:, 1], title)


def estimate(report: Estimate, ax: Any, estimator: str | None) -> Any:
    known = [entry["estimator"] for entry in report.data["estimators"] if "reason" not in entry]
    chosen = estimator or (known[0] if known else None)
    if chosen not in known:
        from .errors import InvalidInput

        raise InvalidInput(f"estimator is not one of {', '.join(known)}", path="estimator")
    found = [entry[chosen] for entry in report.data["p"]]
    labels = [entry["label"] for entry in report.data["p"]]
    middles, lows, highs = ([entry[key] for entry in found] for key in ("estimate", "low", "high"))
    # Without an interval the line has no length.
    lows = [middle if low is None else low for low, middle in zip(lows, middles)]
    highs = [middle if high is None else high for high, middle in zip(highs, middles)]
    title = f"{chosen} of {report.data['n']} reports, {100 * report.data['level']:g} % intervals"
    return _ranges(ax, labels, middles, lows, highs, title)


def frontier(report: Frontier, ax: Any) -> Any:
    ax = _axes(ax, 10)
    privacy, *curves = [name for name in report.columns() if name not in ("gap", "kind")]
    columns = report.columns()
    for name in curves:
        heavy = {"linewidth": 2.5} if name == "optimum" else {"linestyle": "--"}
        ax.plot(columns[privacy], columns[name], label=name, **heavy)
    ax.set_xlabel({"s_mu": "average privacy", "s_wc": "worst-case privacy"}.get(privacy, privacy))
    ax.set_ylabel("effective participation")
    ax.legend()
    return ax
