"""The recipes of the chapter work as printed, on files and on data frames: they give what `sottovoce tally` writes."""

import re

import pytest
from conftest import ROOT
from engines import GRR, OUE, needs, save, saved, written

import sottovoce as sv

PAGE = (ROOT / "docs/beyond-one-machine.md").read_text(encoding="utf-8")


def recipe(name):
    found = re.search(rf"```python {name}\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"there is no recipe for {name}"
    return found.group(1)


@pytest.fixture(params=[GRR, OUE], ids=["grr", "oue"])
def q(request):
    return request.param


@pytest.fixture
def days(q, tmp_path):
    return [save(q, tmp_path / f"days/{day}.parquet", 2000 + day, seed=day or None) for day in range(4)]


def made(name, q, place):
    names = {"q": q}
    exec(compile(recipe(name).replace("/data/", f"{place}/"), name, "exec"), names)
    return names["tally"]


def same_on_files(name, q, days, tmp_path, command):
    tally = made(name, q, tmp_path)
    assert saved(tally, tmp_path) == written(command, days, tmp_path) and tally.insecure


def same_counts(name, q, days, place):
    found, expected = made(name, q, place).data, sv.tally(days).data
    kept = ("n", "counts", "supports", "form", "fingerprint", "rejected")
    assert {key: found.get(key) for key in kept} == {key: expected.get(key) for key in kept}
    assert [batch["of"] for batch in found["batches"]] == ["counts"]


def test_recipes_are_short():
    for name in re.findall(r"```python ([a-z ]+)\n", PAGE):
        assert len([line for line in recipe(name).splitlines() if line.strip()]) <= 10, name


@pytest.fixture(scope="module")
def dask_processes():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@needs("dask")
def test_dask(q, days, tmp_path, command, dask_processes):
    same_on_files("dask", q, days, tmp_path, command)
    same_counts("dask frame", q, days, tmp_path)


@needs("dask")
def test_dask_says_what_is_wrong(days, tmp_path, dask_processes):
    days[1].write_bytes(days[1].read_bytes()[:-100])
    with pytest.raises(sv.SottovoceError, match=r"1\.parquet"):
        made("dask", None, tmp_path)
    save(sv.grr(9, 1), days[1], 100)
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        made("dask", None, tmp_path)


@needs("dask")
def test_dask_counts_once_when_a_worker_is_killed(q, days, tmp_path, command, dask_processes):
    """The worker that counts the first file is lost before it has told anybody."""
    import operator
    import os
    import signal

    import dask.bag

    mark = str(tmp_path / "killed")

    def count(path):
        tally = sv.tally(path)
        if path.endswith("0.parquet") and not os.path.exists(mark):
            open(mark, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return tally

    paths = dask.bag.from_sequence([str(day) for day in days], partition_size=1)
    tally = paths.map(count).fold(operator.add).compute()
    assert os.path.exists(mark) and saved(tally, tmp_path) == written(command, days, tmp_path)


@needs("duckdb")
def test_duckdb(q, days, tmp_path, command):
    same_on_files("duckdb", q, days, tmp_path, command)


@needs("polars")
def test_polars(q, days, tmp_path, command):
    same_on_files("polars", q, days, tmp_path, command)


@needs("daft")
def test_daft(q, days, tmp_path, command):
    same_on_files("daft", q, days, tmp_path, command)
    same_counts("daft frame", q, days, tmp_path)


@pytest.fixture(scope="module")
def ray_workers():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    yield
    ray.shutdown()


@needs("ray")
def test_ray(q, days, tmp_path, command, ray_workers):
    same_on_files("ray", q, days, tmp_path, command)
    same_counts("ray frame", q, days, tmp_path)
