"""Bad input to every public function: an exception that says what is wrong, no crash, and no user's value in a message."""

import inspect
import json
import pickle

import hypothesis
import numpy
import pytest
from conftest import FULL, ROOT
from hypothesis import strategies as st

import sottovoce as sv

SECRET = "hepatitis"
REFUSALS = (ValueError, TypeError, OverflowError, KeyError, AttributeError)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.just(SECRET),
    st.just(object()),
    st.sampled_from([10**400, -(10**400), "\ud800", float("nan"), numpy.float64("inf"), numpy.int8(-1), numpy.str_(SECRET)]),
)
things = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3), st.tuples(inner)),
    max_leaves=5,
)
arrays = st.sampled_from(
    [
        numpy.array([SECRET]),
        numpy.array([SECRET.encode()]),
        numpy.array([1j]),
        numpy.array([["a"]]),
        numpy.array(3),
        numpy.array([], dtype=float),
        numpy.array(["2020"], dtype="datetime64[Y]"),
        numpy.array([(1, 2)], dtype=[("a", int), ("b", int)]),
        numpy.zeros((2, 3, 4), dtype="u1"),
    ]
)
anything = st.one_of(things, arrays)

settings = hypothesis.settings(
    max_examples=2000 if FULL else 100,
    deadline=None,
    derandomize=not FULL,
    suppress_health_check=list(hypothesis.HealthCheck),
)

# Slow for input that happens to be right: they are tried with what is always wrong elsewhere.
SLOW = {"demo", "figures"}
FUNCTIONS = sorted(
    name
    for name in sv.__all__
    if inspect.isfunction(getattr(sv, name)) and name not in SLOW | {"jobs", "limits"}
)


def refused(call):
    """Calls, and looks at what is raised; what is not refused is all right."""
    try:
        with sv.limits(time=2, threads=1):
            call()
    except sv.TimeOver:
        pass
    except REFUSALS as error:
        return f"{error}"
    return ""


@pytest.mark.parametrize("name", FUNCTIONS)
@settings
@hypothesis.given(data=st.data())
def test_functions_refuse(name, data):
    function = getattr(sv, name)
    parameters = list(inspect.signature(function).parameters.values())
    chosen = {}
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.default is parameter.empty or data.draw(st.integers(0, 4)) == 0:
            chosen[parameter.name] = data.draw(anything)
    refused(lambda: function(**chosen))


Q = {"labels": sv.oue(["a", "b", "c"], 1), "numbers": sv.grr(3, 1), "hash": sv.lh(3, 1)}


@pytest.mark.parametrize("name", list(Q))
@settings
@hypothesis.given(values=anything, secrets=st.lists(st.one_of(scalars, st.just(SECRET)), max_size=4), seed=scalars)
def test_no_message_has_a_value(name, values, secrets, seed):
    q = Q[name]
    tally = sv.Tally(q)
    for call in [
        lambda: q.randomise(values),
        lambda: q.randomise(secrets),
        lambda: q.randomise([*secrets, SECRET]),
        lambda: q.randomise({SECRET: 1}),
        lambda: q.randomise([0], insecure_test_seed=seed),
        lambda: q.randomise_one(values),
        lambda: q.randomise_one(SECRET),
        lambda: q.randomise_one([SECRET]),
        lambda: tally.update(values),
        lambda: tally.update([SECRET]),
        lambda: tally.update(secrets),
        lambda: tally.add(values),
        lambda: tally.add(SECRET),
        lambda: q.tally(numpy.array([SECRET])),
    ]:
        assert SECRET not in refused(call)


def test_a_number_outside_the_domain_is_not_told():
    for call in [lambda: Q["numbers"].randomise([0, 987654]), lambda: Q["numbers"].randomise_one(987654)]:
        message = refused(call)
        assert "outside the protocol's domain" in message and "987654" not in message


@settings
@hypothesis.given(text=st.one_of(st.text(max_size=30), st.binary(max_size=30), st.none(), st.integers()))
def test_tallies_that_are_none(text):
    assert refused(lambda: sv.Tally.from_bytes(text))
    changed = Q["numbers"].tally([0, 1, 2]).to_json()
    place = len(text) % len(changed) if isinstance(text, (str, bytes)) else 0
    refused(lambda: sv.Tally.from_bytes(changed[:place] + str(text) + changed[place:]))


@settings
@hypothesis.given(request=st.dictionaries(st.sampled_from(["job", "protocol", "prior", "n", "metric", "seed"]), anything, max_size=4))
def test_requests_that_are_none(request):
    refused(lambda: sv.run(request))
    refused(lambda: sv.run({"job": "metrics", **request}))


# Not those that write files, which a wrong name would be written to.
EXAMPLES = {
    job: json.loads((ROOT / f"crates/job/tests/requests/{job}.json").read_text())
    for job in sv.jobs()
    if job not in SLOW and "output" not in sv.schema(job)["request"]["properties"]
}


@pytest.mark.parametrize("job", list(EXAMPLES))
@settings
@hypothesis.given(data=st.data())
def test_requests_with_one_wrong_field(job, data):
    fields = sorted(set(sv.schema(job)["request"]["properties"]) - {"job"})
    refused(lambda: sv.run({**EXAMPLES[job], data.draw(st.sampled_from(fields)): data.draw(anything)}))


def test_errors_name_the_field_and_survive_a_pickle():
    for call, path in [
        (lambda: sv.grr(3, -1), "epsilon"),
        (lambda: sv.matrix([[0.5, 2], [0.5, 0]]), "rows[0][1]"),
        (lambda: sv.grr(3, float("nan")), "epsilon"),
        (lambda: sv.grr(3, 1).metrics(prior="dirichlet:alpha=1/2"), "prior.alpha"),
        (lambda: sv.posterior(Q["numbers"].tally([0]), level=2), "level"),
        (lambda: sv.Tally(Q["numbers"], form="some"), "form"),
    ]:
        with pytest.raises(sv.SottovoceError) as found:
            call()
        assert found.value.path == path
        again = pickle.loads(pickle.dumps(found.value))
        assert (str(again), again.path, type(again)) == (str(found.value), path, type(found.value))
    with pytest.raises(TypeError, match="epsilon is missing"):
        sv.grr(3)
    with pytest.raises(sv.SottovoceError, match="did you mean `epsilon`"):
        sv.protocol(json.dumps({"kind": "grr", "a": 3, "epsilom": 1}))


def test_a_protocol_is_never_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text('{"kind": "grr", "a": 3, "epsilon": 1}')
    (tmp_path / "mine.json").write_text('{"kind": "grr", "a": 3, "epsilon": 1}')
    for name in ["mine", "mine.json", "./mine.json", "-", ""]:
        with pytest.raises(sv.SottovoceError):
            sv.protocol(name)
