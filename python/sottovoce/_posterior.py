"""Posteriors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._evaluation import Evaluation
from ._report import JobReport, wrapped
from ._running import native_report
from .errors import InvalidInput

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["Posterior", "Quantity"]


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise InvalidInput(f"level = {level} is not a probability above 0 and below 1", path="level")
    return float(level)


@dataclass(frozen=True)
class Quantity:
    """A function of the shares, such as the sum of some or their difference to others, with what the reports say about it.

    The mean follows from the means of the shares. Everything else comes from joint draws, with the error that so many draws have.
    """

    mean: Evaluation | NDArray[numpy.float64]
    """The posterior mean; an array if there is one for each value."""

    error: float | NDArray[numpy.float64]
    """The error of the mean: 0 for exact methods, else a bound on the standard error of Monte Carlo."""

    draws: NDArray[numpy.float64]
    """Joint draws, the first axis counts them."""

    effective: float
    """To how many independent draws these are worth."""

    method: str = "monte_carlo"
    """How all but the mean was found."""

    @property
    def sd(self) -> Any:
        """The posterior standard deviation."""
        return self.draws.std(axis=0)

    def interval(self, level: float = 0.9) -> NDArray[numpy.float64]:
        """The ends of the credible interval that is equally split to both sides."""
        return self._quantiles([(1 - _level(level)) / 2, (1 + level) / 2])

    def interval_error(self, level: float = 0.9) -> NDArray[numpy.float64]:
        """The standard errors of these ends: half the distance of the quantiles that are one standard error of the rank away."""
        import numpy

        ends = []
        for q in ((1 - _level(level)) / 2, (1 + level) / 2):
            away = math.sqrt(q * (1 - q) / self.effective)
            low, high = numpy.moveaxis(self._quantiles([max(q - away, 0.0), min(q + away, 1.0)]), -1, 0)
            ends.append((high - low) / 2)
        return numpy.stack(ends, axis=-1)

    def probability(self, above: float = 0.0) -> Any:
        """The probability that the quantity is above a number: an `Evaluation`, or an array of them."""
        shares = (self.draws > above).mean(axis=0)

        def evaluation(share: float) -> Evaluation:
            # The standard error at the smallest share that so many draws could tell from 0 and 1.
            inside = min(max(share, 1 / self.effective), 1 - 1 / self.effective)
            error = math.sqrt(max(inside * (1 - inside), 0.0) / self.effective)
            return Evaluation({"value": float(share), "error": error, "method": "monte_carlo"})

        return evaluation(float(shares)) if self.draws.ndim == 1 else [evaluation(float(share)) for share in shares]

    def _quantiles(self, probabilities: list[float]) -> NDArray[numpy.float64]:
        import numpy

        return numpy.moveaxis(numpy.quantile(self.draws, probabilities, axis=0), 0, -1)

    def __float__(self) -> float:
        return float(self.mean)

    def __repr__(self) -> str:
        import numpy

        low, high = numpy.moveaxis(self.interval(), -1, 0)
        if self.draws.ndim == 1:
            return f"<Quantity {float(self):.4g}, 90 % in {low:.4g} to {high:.4g}>"
        return f"<Quantity {numpy.round(self.mean, 4)}, 90 % in {numpy.round(low, 4)} to {numpy.round(high, 4)}>"


class Posterior(JobReport):
    """What reports say about the shares of the values in the population.

    >>> import sottovoce as sv
    >>> q = sv.grr(["red", "green", "blue"], 2)
    >>> post = q.tally([0] * 50 + [1] * 30 + [2] * 20).posterior(draws=1000)
    >>> post.labels
    ['red', 'green', 'blue']
    >>> post.mean.round(2)
    array([0.55, 0.29, 0.16])
    >>> post.interval(.5).shape, post.draws.shape
    ((3, 2), (1000, 3))
    >>> either = post.share(["green", "blue"])
    >>> float(either.probability(above=.3)) > .9
    True
    """

    @property
    def labels(self) -> list[str]:
        """The names of the values."""
        return [entry["label"] for entry in self.data["p"]]

    @property
    def n(self) -> int:
        """The number of reports."""
        return int(self.data["n"])

    @property
    def method(self) -> str:
        """How the shares were found."""
        return str(self.data["method"])

    @property
    def mean(self) -> NDArray[numpy.float64]:
        """The posterior mean of each share."""
        return self._array("p", "mean")

    @property
    def sd(self) -> NDArray[numpy.float64]:
        """The posterior standard deviation of each share."""
        return self._array("p", "sd")

    @property
    def error(self) -> NDArray[numpy.float64]:
        """The Monte Carlo standard error of each mean; 0 for exact methods."""
        return self._array("p", "error")

    @property
    def tally_mean(self) -> NDArray[numpy.float64]:
        """How many of these users hold each value, on average."""
        return self._array("t", "mean")

    def interval(self, level: float | None = None) -> NDArray[numpy.float64]:
        """The ends of each share's credible interval, a row for each value. The posterior is found again for another level than it was asked for."""
        return self._intervals("p", level)

    def tally_interval(self, level: float | None = None) -> NDArray[numpy.float64]:
        """The same for how many of these users hold each value."""
        return self._intervals("t", level)

    @property
    def draws(self) -> NDArray[numpy.float64]:
        """Joint draws of the shares, a row for each draw."""
        drawn: NDArray[numpy.float64] = self._native.draws()[0]
        if len(drawn) == 0:
            raise InvalidInput("the posterior was asked for without draws", path="draws", hint="posterior(draws=4000)")
        return drawn

    @property
    def tally_draws(self) -> NDArray[numpy.uint64]:
        """Joint draws of how many of these users hold each value, from the same states as ``draws``."""
        drawn: NDArray[numpy.uint64] = self._native.draws()[1]
        return drawn

    @property
    def effective_draws(self) -> float:
        """To how many independent draws those of this posterior are worth: all, or what the diagnostics of the Markov chains say."""
        chains, count = self.data["diagnostics"], len(self.draws)
        return float(count) if chains is None else min(float(chains["ess_bulk"]), float(chains["ess_tail"]), count)

    def share(self, values: str | int | Sequence[str | int]) -> Quantity:
        """The share of the users who hold one of these values, given by labels or, where there are none, by numbers."""
        places = self._places(values)
        error = float(self.error[places].sum())
        mean = {"value": float(self.mean[places].sum()), "error": error, "method": self.method}
        return Quantity(Evaluation(mean), error, self.draws[:, places].sum(axis=1), self.effective_draws)

    def difference(self, other: Posterior, values: str | int | Sequence[str | int] | None = None) -> Quantity:
        """How much larger the shares are than in another collection, of other users: of each value, or of these values together."""
        if not isinstance(other, Posterior):
            raise TypeError(f"a {type(other).__name__} is not a posterior")
        if self.labels != other.labels:
            raise InvalidInput("the posteriors are about different values")
        import numpy

        count = min(len(self.draws), len(other.draws))
        effective = min(self.effective_draws, other.effective_draws, count)
        # Both may have been drawn with the same seed, and draws of the same number then go together. In another order they do not.
        order = numpy.random.default_rng(0).permutation(len(other.draws))[:count]
        if values is None:
            draws = self.draws[:count] - other.draws[order]
            return Quantity(self.mean - other.mean, self.error + other.error, draws, effective)
        own, its = self.share(values), other.share(values)
        error = float(own.error) + float(its.error)
        method = "monte_carlo" if "monte_carlo" in (self.method, other.method) else self.method
        mean = Evaluation({"value": float(own) - float(its), "error": error, "method": method})
        return Quantity(mean, error, own.draws[:count] - its.draws[order], effective)

    def to_arviz(self) -> Any:
        """The draws for ArviZ: the variables ``p`` and ``t``, with a dimension ``value``. They are one chain, since they are not in the order of the chains that made them."""
        import arviz

        variables = {"p": self.draws[None], "t": self.tally_draws[None]}
        names: dict[str, Any] = {
            "coords": {"value": self.labels},
            "dims": {"p": ["value"], "t": ["value"]},
        }
        if int(arviz.__version__.partition(".")[0]) >= 1:
            return arviz.from_dict({"posterior": variables}, **names)
        return arviz.from_dict(posterior=variables, **names)

    def plot(self, ax: Any = None) -> Any:
        """Draws the shares with their intervals, and returns the Axes of matplotlib."""
        from ._plots import posterior

        return posterior(self, ax)

    def _array(self, of: str, key: str) -> NDArray[numpy.float64]:
        import numpy

        return numpy.array([float(entry[key]) for entry in self.data[of]])

    def _intervals(self, of: str, level: float | None) -> NDArray[numpy.float64]:
        import numpy

        found: JobReport = self
        if level is not None and _level(level) != self.data["level"]:
            request = {**self._request, "level": float(level), "draws": 0}
            found = wrapped(native_report(request), request)
        ends = [list(entry["quantiles"].values()) for entry in found.data[of]]
        return numpy.array([[float(values[0]), float(values[-1])] for values in ends])

    def _places(self, values: str | int | Sequence[str | int]) -> list[int]:
        known = {label: place for place, label in enumerate(self.labels)}
        wanted = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
        places = [known.get(str(value)) for value in wanted]
        if not places or None in places:
            raise InvalidInput("values are one or more of the labels", path="values")
        if len(set(places)) < len(places):
            raise InvalidInput("a value is there twice", path="values")
        return [place for place in places if place is not None]
