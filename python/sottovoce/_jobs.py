"""The jobs, one function each. Parameters have the names of the request's fields; what is None is left out, and has the default of the request.

`tests/test_contract.py` compares the parameters with the schemas of the requests. A job that has no function here yet is still there as `sottovoce.NAME`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ._posterior import Posterior
from ._protocol import Protocol
from ._report import Estimate, Frontier, JobReport, Metrics, run
from ._tally import Tally
from .errors import FileError, InvalidInput

AnyProtocol = Protocol | str | Mapping[str, Any]
AnyPrior = str | Mapping[str, Any]
AnyTallies = Tally | str | Mapping[str, Any]
AnyStudy = Mapping[str, Any] | str | os.PathLike[str]
OneOrMore = str | Sequence[str]


def _asked(job: str, **fields: Any) -> JobReport:
    return run({"job": job, **{name: value for name, value in fields.items() if value is not None}})


def metrics(
    protocol: AnyProtocol,
    *,
    prior: AnyPrior | None = None,
    n: int | Sequence[int] | None = None,
    metric: OneOrMore | None = None,
    tolerance: float | None = None,
    method: str | None = None,
    seed: int | None = None,
) -> Metrics:
    """How private and how useful a protocol is: every metric with its error and method.

    >>> import sottovoce as sv
    >>> found = sv.metrics(sv.oue(16, 2), metric=["s_mu", "f_mu"])
    >>> round(found["s_mu"], 6), found["s_mu"].method
    (0.841957, 'quadrature')
    """
    fields = {"prior": prior, "n": n, "metric": metric, "tolerance": tolerance, "method": method, "seed": seed}
    return cast(Metrics, _asked("metrics", protocol=protocol, **fields))


def describe(protocol: AnyProtocol, *, publish: bool | None = None) -> JobReport:
    """What a protocol is: its outputs, its matrix if that is small, its level as declared and as realised; with ``publish`` also all that a client needs."""
    return _asked("describe", protocol=protocol, publish=publish)


def split(
    protocol: AnyProtocol,
    n: int,
    *,
    prior: AnyPrior | None = None,
    tolerance: float | None = None,
    method: str | None = None,
    seed: int | None = None,
) -> JobReport:
    """The information split at n users: what they know, and what their reports tell."""
    return _asked("split", protocol=protocol, n=n, prior=prior, tolerance=tolerance, method=method, seed=seed)


def accuracy(
    protocol: AnyProtocol,
    n: int | Sequence[int],
    *,
    prior: AnyPrior | None = None,
    distance: OneOrMore | None = None,
    estimator: OneOrMore | None = None,
    at: Sequence[float] | None = None,
    worst: bool | None = None,
    tolerance: float | None = None,
    seed: int | None = None,
) -> JobReport:
    """How far estimates of the shares are off on average."""
    fields = {"prior": prior, "distance": distance, "estimator": estimator, "at": at, "worst": worst}
    return _asked("accuracy", protocol=protocol, n=n, tolerance=tolerance, seed=seed, **fields)


def users(
    protocol: AnyProtocol,
    *,
    prior: AnyPrior | None = None,
    digits: float | None = None,
    decimal_digits: float | None = None,
    u_distr: float | None = None,
    accuracy: float | None = None,
    distance: str | None = None,
    estimator: str | None = None,
    tolerance: float | None = None,
    method: str | None = None,
    seed: int | None = None,
) -> JobReport:
    """How many users are needed for an accuracy or a utility."""
    wanted = {"digits": digits, "decimal_digits": decimal_digits, "u_distr": u_distr, "accuracy": accuracy}
    how = {"distance": distance, "estimator": estimator, "tolerance": tolerance, "method": method, "seed": seed}
    return _asked("users", protocol=protocol, prior=prior, **wanted, **how)


def choose(
    a: int,
    n: int,
    *,
    epsilon: float | None = None,
    min_average_privacy: float | None = None,
    digits: float | None = None,
    decimal_digits: float | None = None,
    u_distr: float | None = None,
    accuracy: float | None = None,
    distance: str | None = None,
    estimator: str | None = None,
    prior: AnyPrior | None = None,
    tolerance: float | None = None,
    method: str | None = None,
    seed: int | None = None,
) -> JobReport:
    """The protocol for a values and n users under a privacy requirement; ``protocol`` of the report is the recommended one.

    >>> import sottovoce as sv
    >>> sv.choose(a=12, n=30_000, epsilon=1, accuracy=.01).protocol.specification["kind"]
    'subset'
    """
    required = {"epsilon": epsilon, "min_average_privacy": min_average_privacy, "prior": prior}
    wanted = {"digits": digits, "decimal_digits": decimal_digits, "u_distr": u_distr, "accuracy": accuracy}
    how = {"distance": distance, "estimator": estimator, "tolerance": tolerance, "method": method, "seed": seed}
    return _asked("choose", a=a, n=n, **required, **wanted, **how)


def design(
    a: int,
    *,
    epsilon: float | None = None,
    min_average_privacy: float | None = None,
    prior: AnyPrior | None = None,
    n: int | None = None,
    frontier: bool | None = None,
    against: str | None = None,
    points: int | None = None,
    tolerance: float | None = None,
    method: str | None = None,
    seed: int | None = None,
) -> JobReport:
    """The best protocol under a privacy requirement, with a certificate; ``protocol`` of the report is it."""
    required = {"epsilon": epsilon, "min_average_privacy": min_average_privacy, "prior": prior, "n": n}
    curve = {"frontier": frontier, "against": against, "points": points}
    return _asked("design", a=a, **required, **curve, tolerance=tolerance, method=method, seed=seed)


def frontier(a: int, **settings: Any) -> Frontier:
    """The whole curve of the best utility against privacy: `design` with ``frontier=True``."""
    return cast(Frontier, design(a, frontier=True, **settings))


def compare(
    protocols: Sequence[AnyProtocol],
    *,
    prior: AnyPrior | None = None,
    n: int | None = None,
    match: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    metric: OneOrMore | None = None,
    sort: str | None = None,
    estimator: str | None = None,
    tolerance: float | None = None,
    method: str | None = None,
    seed: int | None = None,
) -> JobReport:
    """Protocols side by side.

    ``match={"s_mu": .95}`` solves for the epsilon at which each has that privacy; ``sweep={"n": (100, 10_000, 3)}`` repeats the comparison along a parameter, from the lowest to the highest
    value in so many steps.

    >>> import sottovoce as sv
    >>> sv.compare([sv.oue(3, 1), sv.grr(3, 1)], match={"s_mu": .95}).columns()["protocol"][0]
    'grr'
    """
    fields = {"prior": prior, "n": n, "metric": metric, "sort": sort, "estimator": estimator}
    how = {"tolerance": tolerance, "method": method, "seed": seed, "match": _matched(match), "sweep": _swept(sweep)}
    return _asked("compare", protocols=list(protocols), **fields, **how)


def _matched(match: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if match is None or len(match) != 1:
        return match
    ((metric, value),) = match.items()
    return {"metric": metric, "value": value}


def _swept(sweep: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if sweep is None or len(sweep) != 1:
        return sweep
    ((parameter, (low, high, count)),) = sweep.items()
    return {"parameter": parameter, "low": low, "high": high, "count": count}


def budget(
    protocol: AnyProtocol | Sequence[AnyProtocol],
    *,
    prior: AnyPrior | None = None,
    epsilon: float | None = None,
    min_average_privacy: float | None = None,
    then: AnyProtocol | None = None,
    times: int | None = None,
    seed: int | None = None,
) -> JobReport:
    """How much privacy several collections use up together: one for each protocol, in ``times`` rounds; with ``then``, each round draws from one memoised report."""
    limits = {"epsilon": epsilon, "min_average_privacy": min_average_privacy, "seed": seed}
    return _asked("budget", protocol=protocol, prior=prior, then=then, times=times, **limits)


def estimate(
    tallies: AnyTallies,
    *,
    protocol: AnyProtocol | None = None,
    prior: AnyPrior | None = None,
    estimator: OneOrMore | None = None,
    level: float | None = None,
    tolerance: float | None = None,
    covariance: bool | None = None,
) -> Estimate:
    """Estimates of the shares with confidence intervals, from a tally, a dictionary of tallies or the path of a tallies file."""
    fields = {"prior": prior, "estimator": estimator, "level": level, "tolerance": tolerance, "covariance": covariance}
    return cast(Estimate, _asked("estimate", tallies=tallies, protocol=protocol, **fields))


def posterior(
    tallies: AnyTallies | Sequence[AnyTallies],
    *,
    protocol: AnyProtocol | None = None,
    prior: AnyPrior | None = None,
    of: OneOrMore | None = None,
    against: AnyTallies | Sequence[AnyTallies] | None = None,
    level: float | None = None,
    draws: int | None = None,
    grid: int | None = None,
    method: str | None = None,
    seed: int | None = None,
    allow_unconverged: bool | None = None,
) -> Posterior:
    """What a tally, a dictionary of tallies or a tallies file says about the shares: means, credible intervals, joint draws, evidence.

    Several tallies of the same values, under different protocols, have one posterior. ``of`` asks for expressions over the labels, such as ``share(tea, coffee)``, and ``against`` compares them with another
    collection.
    """
    fields = {"prior": prior, "level": level, "draws": draws, "grid": grid, "method": method, "seed": seed}
    more = {"of": of, "against": against, "allow_unconverged": allow_unconverged}
    return cast(Posterior, _asked("posterior", tallies=tallies, protocol=protocol, **more, **fields))


def trend(
    tallies: Sequence[AnyTallies],
    *,
    protocol: AnyProtocol | None = None,
    prior: AnyPrior | None = None,
    of: OneOrMore | None = None,
    level: float | None = None,
    method: str | None = None,
    seed: int | None = None,
    allow_unconverged: bool | None = None,
) -> JobReport:
    """How shares, or expressions over the labels, change from one collection to the next."""
    fields = {"prior": prior, "of": of, "level": level, "method": method, "seed": seed}
    return _asked("trend", tallies=list(tallies), protocol=protocol, allow_unconverged=allow_unconverged, **fields)


def plan(
    study: AnyStudy,
    *,
    strategy: str | None = None,
    n: int | None = None,
    accuracy: float | None = None,
) -> JobReport:
    """How to collect the answers of a study with several questions. A study is a dictionary, or the path of a TOML file."""
    return _asked("plan", study=_study(study), strategy=strategy, n=n, accuracy=accuracy)


def analyse(
    study: AnyStudy,
    tallies: str | os.PathLike[str],
    *,
    round: int | None = None,
    level: float | None = None,
    seed: int | None = None,
) -> JobReport:
    """What the tallies of a study, in a directory, say about its questions and cross-tables."""
    return _asked("analyse", study=_study(study), tallies=tallies, round=round, level=level, seed=seed)


def _study(study: AnyStudy) -> Mapping[str, Any]:
    if isinstance(study, Mapping):
        return study
    if not isinstance(study, (str, os.PathLike)):
        raise TypeError(f"a study is a dictionary or the path of a TOML file, not a {type(study).__name__}")
    try:
        with open(study, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise FileError(f"{study}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{study}: is not TOML: {error}", path="study") from error


def explain(metric: str | None = None) -> JobReport:
    """What a metric means; without its name, all of them."""
    return _asked("explain", metric=metric)


def demo(*, seed: int | None = None) -> JobReport:
    """A complete small story on real data."""
    return _asked("demo", seed=seed)


def figures(*, seed: int | None = None) -> JobReport:
    """The figures of the paper, with their data."""
    return _asked("figures", seed=seed)


def any_job(job: str) -> Callable[..., JobReport]:
    """The function of a job that has no own one: its parameters are the fields of the request."""

    def ask(**fields: Any) -> JobReport:
        return _asked(job, **fields)

    ask.__name__ = ask.__qualname__ = job
    ask.__doc__ = f"The job `{job}`. Parameters are the fields of its request; see `sottovoce.schema({job!r})`."
    return ask
