"""The documents work as printed: docstrings, the README, the chapter and the notebook; and the types are right."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import warnings

import pytest
from conftest import ROOT

import sottovoce as sv

MODULES = ["sottovoce", *(f"sottovoce.{module.name}" for module in pkgutil.iter_modules(sv.__path__) if module.name != "_native")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/beyond-one-machine.md", "python/README.md"])
def test_the_lines_of_a_page_work_as_printed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    assert blocks(page)
    for number, block in enumerate(blocks(page)):
        if ">>>" not in block:
            exec(compile(block, f"{page}, block {number + 1}", "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, f"{page}, block {number + 1}", page, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
        runner.run(test, clear_globs=False)
        names = test.globs
        assert runner.failures == 0, capsys.readouterr().out


def test_a_collection_takes_at_most_fifteen_lines():
    block = next(block for block in blocks("docs/python.md") if "choose" in block)
    assert len([line for line in block.splitlines() if line.strip()]) <= 15


def test_the_notebook_runs(monkeypatch, tmp_path):
    monkeypatch.delenv("MPLBACKEND")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(ROOT / "python/examples/education.ipynb", as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert any("iframe" in output.get("data", {}).get("text/html", "") for output in shown)


def test_notebooks_have_no_outputs():
    assert '"output_type"' not in (ROOT / "python/examples/education.ipynb").read_text()


def checked(directory, *arguments):
    run = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=directory)
    assert run.returncode == 0, run.stdout + run.stderr


def test_types():
    pytest.importorskip("mypy")
    checked(ROOT / "python", "mypy", "--config-file", "pyproject.toml", "--cache-dir", os.devnull)


def test_the_stub_is_that_of_the_compiled_part(tmp_path):
    """In another directory than the sources, which lack the compiled part."""
    pytest.importorskip("mypy")
    config = str(ROOT / "python/pyproject.toml")
    checked(tmp_path, "mypy.stubtest", "sottovoce._native", "--concise", "--mypy-config-file", config)
