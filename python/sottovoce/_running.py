"""Requests in, reports out: what every job shares."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from . import _native
from .errors import Interrupted, InvalidInput, TimeOver

__all__ = ["Limits", "limits"]


@dataclass(frozen=True)
class Limits:
    """What a job may take; see `limits`."""

    threads: int | None = None
    time: float | None = None
    memory: int | None = None
    progress: bool | None = None


_LIMITS: ContextVar[Limits] = ContextVar("sottovoce_limits", default=Limits())


@contextmanager
def limits(
    *,
    threads: int | None = None,
    time: float | None = None,
    memory: int | None = None,
    progress: bool | None = None,
) -> Iterator[None]:
    """Limits for the jobs inside: number of threads, seconds, bytes of memory, and whether to show a bar of progress.

    A job that is not finished in time raises `TimeOver`, whose ``report`` has the best results so far. What would take more memory is refused before it begins.
    Without limits, each Monte Carlo number has 120 seconds and the search of a design 600, and a job may take half of the free memory.

    >>> import sottovoce as sv
    >>> with sv.limits(threads=1, time=60):
    ...     round(sv.grr(3, 1).metrics(metric="s_mu")["s_mu"], 6)
    0.891633
    """
    given: dict[str, Any] = {"threads": threads, "time": time, "memory": memory, "progress": progress}
    changed = replace(_LIMITS.get(), **{key: value for key, value in given.items() if value is not None})
    token = _LIMITS.set(changed)
    try:
        yield
    finally:
        _LIMITS.reset(token)


def encode(value: Any, path: str = "") -> str:
    """A request as JSON. Protocols, tallies, paths and numpy's numbers and arrays are what they stand for."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value)
    if hasattr(value, "__sottovoce_json__"):
        return str(value.__sottovoce_json__())
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidInput(f"{path or 'a number'}: {float(value)} is not a finite number", path=path or None)
        return float.__repr__(value)
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(_key(key))}:{encode(entry, _inside(path, key))}" for key, entry in value.items())
        return "{" + ",".join(entries) + "}"
    if isinstance(value, (list, tuple, range)):
        return "[" + ",".join(encode(entry, f"{path}[{place}]") for place, entry in enumerate(value)) + "]"
    if isinstance(value, os.PathLike):
        return json.dumps(os.fspath(value))
    if hasattr(value, "tolist"):
        return encode(value.tolist(), path)
    if hasattr(value, "to_list"):
        return encode(value.to_list(), path)
    raise TypeError(f"{path or 'a request'}: a {type(value).__name__} has no meaning in a request")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the keys of a request are texts, not {type(key).__name__}")
    return key


def _inside(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def native_report(request: Mapping[str, Any]) -> _native.JobReport:
    """Does the job that a request asks for, within the limits of the context."""
    text, allowed = encode(request), _LIMITS.get()
    bar = Bar(allowed.progress)
    try:
        return _native.run(
            text, threads=allowed.threads, time_limit=allowed.time, max_memory=allowed.memory, progress=bar.tell
        )
    except (Interrupted, TimeOver) as early:
        if early.report is not None:
            from ._report import wrapped

            early.report = wrapped(early.report, request)
        raise
    finally:
        bar.close()


PATIENCE = 1.0
"""Nothing is shown about what is found within so many seconds."""


class Bar:
    """A bar of progress, by tqdm if that is installed and somebody can see it."""

    def __init__(self, wanted: bool | None) -> None:
        seen = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
        self._wanted = seen if wanted is None else wanted
        self._start = time.monotonic()
        self._bar: Any = None

    def tell(self, what: str, done: float | None, count: int) -> None:
        if not self._wanted or time.monotonic() - self._start < PATIENCE:
            return
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._wanted = False
                return
            self._bar = tqdm(total=100, leave=False, unit="%")
        self._bar.set_description(what, refresh=False)
        self._bar.set_postfix_str(f"{count:,}", refresh=False)
        if done is not None:
            self._bar.n = round(100 * min(max(done, 0.0), 1.0))
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
