"""Posteriors as numpy, ArviZ and plots, and functions of the shares."""

import json
import pickle
import warnings

import numpy
import pytest

import sottovoce as sv

Q = sv.grr(["red", "green", "blue"], 2)
TALLY = Q.tally([0] * 500 + [1] * 300 + [2] * 200)
POST = TALLY.posterior()
OTHER = Q.tally([0] * 300 + [1] * 500 + [2] * 200).posterior()


def test_draws_agree_with_the_exact_marginals():
    """4000 independent draws, fixed by the seed: means within 5 standard errors."""
    assert POST.effective_draws == 4000
    assert (abs(POST.draws.mean(axis=0) - POST.mean) < 5 * POST.sd / 4000**0.5).all()
    assert numpy.allclose(POST.draws.sum(axis=1), 1) and (POST.tally_draws.sum(axis=1) == 1000).all()
    assert abs(POST.tally_mean.sum() - 1000) < 1e-6


def test_intervals_of_any_level_are_those_of_the_job():
    direct = sv.posterior(TALLY, level=0.5)
    assert (POST.interval(0.5) == direct.interval()).all()
    assert (POST.interval() == POST.interval(0.9)).all() and POST.interval().shape == (3, 2)
    assert (TALLY.posterior(level=0.95).interval(0.95) == TALLY.posterior().interval(0.95)).all()
    assert POST.tally_interval(0.5).shape == (3, 2)


def test_a_share_of_one_value_is_its_marginal():
    share = POST.share("red")
    assert float(share) == POST.mean[0] and share.mean.method == POST.method
    off = abs(share.interval() - POST.interval()[0])
    assert (off < 5 * share.interval_error()).all() and (share.interval_error() < 0.01).all()
    assert abs(share.sd - POST.sd[0]) < 0.05 * POST.sd[0]
    everything = POST.share(["red", "green", "blue"])
    assert abs(float(everything) - 1) < 1e-12 and everything.probability(above=0.5) == 1
    with pytest.raises(sv.SottovoceError):
        POST.share(["red", "red"])
    with pytest.raises(sv.SottovoceError):
        POST.share("purple")


def test_differences_are_of_independent_collections():
    difference = POST.difference(OTHER)
    assert numpy.allclose(difference.mean, POST.mean - OTHER.mean)
    wanted = numpy.sqrt(POST.sd**2 + OTHER.sd**2)
    # The relative standard error of a standard deviation of 4000 draws is 0.011.
    assert (abs(difference.sd / wanted - 1) < 0.06).all()
    same = POST.difference(POST, "red")
    assert float(same) == 0 and abs(same.sd / (2**0.5 * POST.sd[0]) - 1) < 0.06
    assert POST.difference(OTHER, ["red"]).probability() > 0.99
    assert [round(p) for p in difference.probability()] == [1, 0, round(difference.probability()[2])]
    with pytest.raises(sv.SottovoceError, match="different values"):
        POST.difference(sv.grr(3, 1).tally([0]).posterior())


def test_arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
        found = POST.to_arviz()
        p = found["posterior"]["p"]
    assert p.shape == (1, 4000, 3) and p.coords["value"].values.tolist() == POST.labels
    assert arviz is not None


def test_plots_are_axes():
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    assert isinstance(POST.plot(), Axes)
    assert [label.get_text() for label in POST.plot().get_yticklabels()] == POST.labels
    assert isinstance(TALLY.estimate(["linear", "ml"]).plot(estimator="ml"), Axes)
    assert isinstance(sv.frontier(a=3, points=3).plot(), Axes)


def test_reports_of_jobs_have_every_form():
    report = pickle.loads(pickle.dumps(POST))
    assert report.to_json() == POST.to_json() and (report.draws == POST.draws).all()
    assert (report.interval(0.5) == POST.interval(0.5)).all()
    assert report.to_html().startswith("<!") and "<iframe" in report._repr_html_()
    assert json.loads(report.to_json()) == report.data
    assert len(report.to_pandas()) == len(report.to_polars()) == report.to_arrow().num_rows == 6
    assert report.to_pandas()["mean"][0] == POST.mean[0]
    assert report.charts()[0].startswith("<svg")
    without = sv.posterior(TALLY)
    with pytest.raises(sv.SottovoceError, match="without draws"):
        without.draws
    assert sv.choose(a=4, n=1000, epsilon=1).protocol.a == 4
    with pytest.raises(AttributeError):
        sv.explain("s_mu").protocol


def test_markov_chains_say_how_many_draws_they_are_worth():
    q = sv.oue(4, 1)
    post = q.tally(q.randomise([0, 1, 2, 3, 0, 0] * 50, insecure_test_seed=1)).posterior(draws=500, method="monte_carlo")
    assert post.method == "monte_carlo" and post.effective_draws <= 500
    assert post.share([0, 1]).mean.error > 0


def test_expressions_several_collections_and_trends():
    """A difference by the job's exact method agrees with that of the draws, within five standard errors."""
    asked = sv.posterior(TALLY, of=["red - green", "share(red, blue)"])
    text = asked.to_json()
    assert "red - green" in text and "share(red, blue)" in text
    drawn = POST.draws[:, 0] - POST.draws[:, 1]
    difference, share = (sv.Evaluation(entry["posterior"]["mean"]) for entry in asked["of"])
    assert abs(difference - drawn.mean()) < 5 * drawn.std() / 4000**0.5 + difference.error
    assert abs(share - float(POST.share(["red", "blue"]))) < 1e-9 + share.error
    other = sv.oue(Q.labels, 1)
    both = sv.posterior([TALLY, other.tally(other.randomise(["red", "blue"] * 50, insecure_test_seed=1))])
    assert both.n == 1100
    assert sv.trend([TALLY, Q.tally([0] * 300 + [1] * 500)], of="red").job == "trend"
    with pytest.raises(sv.SottovoceError, match="in common"):
        sv.trend([TALLY, TALLY])


def test_a_study_is_a_dictionary_or_a_file(tmp_path):
    (tmp_path / "study.toml").write_text('version = 1\n[[question]]\nname = "sex"\nlabels = ["Female", "Male"]\n[plan]\nepsilon = 1\n')
    study = {"version": 1, "question": [{"name": "sex", "labels": ["Female", "Male"]}], "plan": {"epsilon": 1}}
    assert sv.plan(tmp_path / "study.toml", n=1000).to_json() == sv.plan(study, n=1000).to_json()
    with pytest.raises(sv.SottovoceError, match="cannot be read"):
        sv.plan(tmp_path / "none.toml")


def test_people_of_any_table_answer_a_study(tmp_path):
    import duckdb
    import pandas
    import polars
    import pyarrow

    answers = {"id": list(range(40)), "sex": ["Female", "Male"] * 20, "age": [20, 30, 40, 50] * 10}
    questions = [{"name": "sex", "labels": ["Female", "Male"]}, {"name": "age", "bins": [0, 35, 99]}]
    study = sv.plan({"version": 1, "question": questions, "plan": {"epsilon": 2}}, n=40)["study"]
    frame, arrow = pandas.DataFrame(answers), pyarrow.table(answers)
    frame.to_csv(tmp_path / "people.csv", index=False)
    tables = [frame, arrow, polars.DataFrame(answers), polars.LazyFrame(answers), duckdb.sql("select * from arrow"), answers, tmp_path / "people.csv"]
    found = []
    for place, people in enumerate(tables):
        out = tmp_path / str(place)
        assert sv.randomise_study(study, people, out, insecure_test_seed=1)["people"] == 40
        found.append({file.name: file.read_bytes() for file in out.iterdir()})
    assert len(found[0]) == 2 and all(files == found[0] for files in found)
    assert sv.tally_study(study, tmp_path / "0", tmp_path / "tallies")["n"] == 40
    assert len(sv.analyse(study, tmp_path / "tallies")["questions"]) == 2
    for bad in [5, [1, 2], None, {"sex": ["Male"], "age": [1, 2]}, {"sex": 5, "age": 6}]:
        with pytest.raises((TypeError, sv.SottovoceError)) as refused:
            sv.randomise_study(study, bad, tmp_path / "bad")
        assert not (tmp_path / "bad").exists() and "Male" not in str(refused.value)


def test_rounds_of_a_study_keep_a_memo(tmp_path):
    questions = [{"name": "sex", "labels": ["Female", "Male"]}]
    plan = {"epsilon": 40, "rounds": 2, "noise": "memoised"}
    study = sv.plan({"version": 1, "question": questions, "plan": plan}, n=4)["study"]
    people = {"id": [1, 2, 3, 4], "sex": ["Male", "Female", "Male", "Male"]}
    with pytest.raises(sv.SottovoceError, match="needs the memo"):
        sv.randomise_study(study, people, tmp_path / "out", round=1)
    memo = {"memo": tmp_path / "memo.jsonl", "person": "id"}
    assert sv.randomise_study(study, people, tmp_path / "out", round=1, **memo)["memo"]["new"] == 4
    assert sv.randomise_study(study, people, tmp_path / "out", round=2, **memo)["memo"]["known"] == 4
    first, second = ((tmp_path / f"out/sex.round-{round}.csv").read_bytes() for round in (1, 2))
    assert first == second
