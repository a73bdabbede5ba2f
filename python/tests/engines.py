"""What the tests of engines share: which of them are to be tested, and files of reports.

`SOTTOVOCE_ENGINES` names the engines that must be there, as in `spark,dask`; without it those that are installed are tested.
"""

import importlib.util
import os
import subprocess

import numpy
import pytest

import sottovoce as sv

PACKAGES = {"spark": "pyspark", "dask": "dask", "ray": "ray", "daft": "daft", "duckdb": "duckdb", "polars": "polars"}
NAMED = os.environ.get("SOTTOVOCE_ENGINES")
ENGINES = (
    {name for name in NAMED.split(",") if name}
    if NAMED is not None
    else {name for name, package in PACKAGES.items() if importlib.util.find_spec(package)}
)

GRR = sv.grr(64, 1)
OUE = sv.oue(20, 1)


def needs(engine):
    return pytest.mark.skipif(engine not in ENGINES, reason=f"{engine} is not to be tested")


def reports(q, n, seed=None):
    return q.randomise(numpy.arange(n) % q.a, insecure_test_seed=seed)


def save(q, path, n, *, seed=None, groups=None):
    """A file of reports in small groups of rows, as pyarrow writes it, so that engines can take it apart."""
    import pyarrow
    from pyarrow import parquet

    path.parent.mkdir(exist_ok=True, parents=True)
    reports(q, n, seed).save(path)
    table = parquet.read_table(path)
    for name, values in (groups or {}).items():
        table = table.append_column(name, pyarrow.array(values))
    parquet.write_table(table, path, row_group_size=700)
    return path


def written(command, paths, place, *more):
    """What `sottovoce tally` writes."""
    output = place / "expected.json"
    subprocess.run([command, "tally", *map(str, paths), "-o", str(output), *more], check=True, capture_output=True)
    return output.read_bytes()


def saved(tally, place):
    tally.save(place / "found.json")
    return (place / "found.json").read_bytes()
