"""Local differential privacy: choose a protocol, randomise values, count reports, and see what they say.

    import sottovoce as sv

    q = sv.oue(labels=["red", "green", "blue"], epsilon=1)
    q.metrics()["s_mu"]                       # a number with its error and method
    reports = q.randomise(df["colour"])       # the operating system's randomness
    post = q.tally(reports).posterior()
    post.mean, post.interval(.9)

The functions are named as the jobs of the command line, and `run` does any of them. Everything is in nats.
"""

from __future__ import annotations

from typing import Any

from . import _native, errors
from ._evaluation import Evaluation
from ._jobs import (
    accuracy,
    analyse,
    any_job,
    budget,
    choose,
    compare,
    demo,
    describe,
    design,
    estimate,
    explain,
    figures,
    frontier,
    metrics,
    plan,
    posterior,
    split,
    trend,
    users,
)
from ._native import Reports, __version__
from ._partial import PartialTally
from ._posterior import Posterior, Quantity
from ._protocol import (
    Protocol,
    blh,
    block,
    composition,
    deterministic,
    erasure,
    grr,
    identity,
    lh,
    matrix,
    mixture,
    oue,
    product,
    protocol,
    rappor,
    subset,
    ue,
)
from ._report import Estimate, Frontier, JobReport, Metrics, run
from ._running import limits
from ._tally import Tally, merge, tally
from .errors import Interrupted, SottovoceError, TimeOver

__all__ = [
    "Estimate",
    "Evaluation",
    "Frontier",
    "Interrupted",
    "JobReport",
    "Metrics",
    "PartialTally",
    "Posterior",
    "Protocol",
    "Quantity",
    "Reports",
    "SottovoceError",
    "Tally",
    "TimeOver",
    "__version__",
    "accuracy",
    "analyse",
    "blh",
    "block",
    "budget",
    "choose",
    "compare",
    "composition",
    "demo",
    "describe",
    "design",
    "deterministic",
    "erasure",
    "errors",
    "estimate",
    "explain",
    "figures",
    "frontier",
    "grr",
    "identity",
    "jobs",
    "lh",
    "limits",
    "matrix",
    "merge",
    "metrics",
    "mixture",
    "oue",
    "plan",
    "posterior",
    "product",
    "protocol",
    "randomise",
    "rappor",
    "run",
    "schema",
    "split",
    "subset",
    "tally",
    "trend",
    "ue",
    "users",
]


def randomise(protocol: Protocol, values: Any, **settings: Any) -> Reports:
    """Reports on a column of values; see `Protocol.randomise`."""
    return protocol.randomise(values, **settings)


def jobs() -> list[str]:
    """The names of all jobs."""
    return _native.jobs()


def schema(job: str) -> dict[str, Any]:
    """The JSON schemas of a job: of its ``request`` and of its ``report``."""
    import json

    found = _native.schema(job)
    if found is None:
        raise errors.InvalidInput(f"jobs are {', '.join(jobs())}", path="job")
    return {"request": json.loads(found[0]), "report": json.loads(found[1])}


def __getattr__(name: str) -> Any:
    if name in _native.jobs():
        return any_job(name)
    raise AttributeError(f"module 'sottovoce' has no attribute {name!r}")
