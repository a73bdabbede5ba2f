"""The package says what the command line says, job by job."""

import inspect
import json
import subprocess

import pytest
from conftest import FULL, ROOT

import sottovoce as sv

REQUESTS = ROOT / "crates/job/tests/requests"
REFERENCE = json.loads((ROOT / "crates/job/tests/golden/reference.json").read_text())

# They take a second or more: the demo, the figures.
LONG = {"demo", "figures"}


def printed(command, request, directory):
    """What the command line prints for a request, or what it complains about."""
    run = subprocess.run(
        [command, "run", "-", "--format", "json", "--quiet"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        cwd=directory,
    )
    return run.stdout if run.returncode == 0 else run.stderr


@pytest.mark.parametrize("job", sv.jobs())
def test_every_example_request_has_the_report_of_the_command(job, command, monkeypatch):
    if job in LONG and not FULL:
        pytest.skip("long: SOTTOVOCE_FULL=1")
    # The requests name files relative to the crate.
    monkeypatch.chdir(REQUESTS.parents[1])
    request = json.loads((REQUESTS / f"{job}.json").read_text())
    assert sv.run(request).to_json() == printed(command, request, REQUESTS.parents[1])


@pytest.mark.parametrize("job", sorted(set(sv.jobs()) - {"randomise", "tally", "merge"}))
def test_parameters_are_the_fields_of_the_request(job):
    """`randomise`, `tally` and `merge` take columns and objects instead of paths."""
    fields = set(sv.schema(job)["request"]["properties"]) - {"job"}
    parameters = inspect.signature(getattr(sv, job)).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return  # A job without a function of its own takes any field.
    assert set(parameters) == fields


def test_a_job_without_a_function_of_its_own_is_there():
    from sottovoce._jobs import any_job

    assert any_job("metrics")(protocol="grr:a=3,eps=1", metric="ldp")["ldp"] == sv.grr(3, 1).metrics(metric="ldp")["ldp"]
    with pytest.raises(AttributeError):
        sv.no_such_job


def cases():
    """The requests for the reference values: one for each protocol and prior."""
    grouped = {}
    for entry in REFERENCE["metrics"]:
        key = json.dumps([entry["protocol"], entry["prior"]])
        grouped.setdefault(key, []).append(entry)
    for key, entries in grouped.items():
        protocol, prior = json.loads(key)
        users = sorted({entry["n"] for entry in entries if entry["n"] is not None})
        few = [n for n in users if FULL or n <= 5]
        metrics = sorted({entry["metric"] for entry in entries if entry["n"] is None or entry["n"] in few})
        yield {"job": "metrics", "protocol": protocol, "prior": prior, "n": few, "metric": metrics, "method": "exact"}


def posteriors():
    for entry in REFERENCE["posteriors"]:
        keys = ("protocol", "prior", "tallies")
        if all(key in entry for key in keys):
            yield {"job": "posterior", **{key: entry[key] for key in keys}}


def test_every_reference_value_is_that_of_the_command_bit_for_bit(command, tmp_path):
    """All of them with SOTTOVOCE_FULL=1; else every fifth protocol and prior, with few users, and every fourth posterior."""
    asked = list(cases())[:: 1 if FULL else 5] + list(posteriors())[:: 1 if FULL else 4]
    assert len(asked) > 20
    for request in asked:
        if request.get("metric") == []:
            continue
        try:
            found = sv.run(request).to_json()
        except sv.SottovoceError as error:
            assert str(error.args[0]) in printed(command, request, tmp_path)
            continue
        assert found == printed(command, request, tmp_path), request


def test_numbers_are_those_of_the_json():
    report = sv.metrics("grr:a=3,eps=1", n=10)
    for entry in json.loads(report.to_json())["evaluations"]:
        found = report[entry["metric"], entry["n"]] if entry["n"] else report[entry["metric"]]
        value = float(entry["value"]) if isinstance(entry["value"], str) else entry["value"]
        assert found.value == value or value is None and found != found
        assert found.method == entry["method"]
