"""Tallies: what is counted, what is rejected, and that nothing is counted twice."""

import pickle

import numpy
import pytest

import sottovoce as sv

Q = sv.grr(["red", "green", "blue"], 1)


def test_counts_are_those_of_numpy():
    reports = Q.randomise(["red"] * 5000 + ["blue"] * 3000)
    counts = numpy.bincount(reports.to_numpy(), minlength=3)
    assert {entry["y"]: entry["count"] for entry in Q.tally(reports).data["counts"]} == dict(enumerate(counts))


def test_supports_are_those_of_numpy():
    q = sv.oue(40, 1)
    reports = q.randomise(numpy.arange(70_000) % 40)
    bits = numpy.unpackbits(reports.to_numpy(), axis=1, bitorder="little")[:, :40]
    tally = q.tally(reports, form="supports")
    assert tally.kept == "supports" and tally.data["supports"] == bits.sum(axis=0).tolist()
    assert q.tally(reports).kept == "supports"  # 70 000 different patterns are too many
    assert q.tally(reports, form="patterns").kept == "patterns"


def test_what_is_no_report_is_rejected():
    tally = sv.Tally(Q).update([0, 1, 7, -1, 2])
    assert (tally.n, tally.rejected) == (3, {"out_of_range": 2})
    with pytest.raises(sv.SottovoceError, match="none of the 2 reports fits"):
        sv.Tally(Q).update([7, 8])
    with pytest.raises(sv.SottovoceError, match="a number that is too large"):
        sv.Tally(Q).add(3)
    assert sv.Tally(sv.oue(9, 1)).update([b"\0\0", b"\0", b"\0\xff"]).rejected == {"length": 1, "padding": 1}


def test_one_report_at_a_time_is_as_good_as_a_column():
    tally = sv.Tally(Q)
    reports = [Q.randomise_one("red") for _ in range(2500)]
    for report in reports:
        tally.add(report)
    assert tally == sv.Tally(Q).update(reports)


def test_nothing_is_counted_twice():
    reports = Q.randomise(["red"] * 2000)
    tally = Q.tally(reports)
    with pytest.raises(sv.SottovoceError, match="in common"):
        tally.update(reports)
    assert tally.n == 2000
    with pytest.raises(sv.SottovoceError, match="in common"):
        tally + Q.tally(reports)
    assert tally.copy().update(reports, allow_copies=True).n == 4000
    assert tally.copy().merge(Q.tally(reports), allow_copies=True).n == 4000
    assert (tally + Q.tally(Q.randomise(["red"] * 2000))).n == 4000


def test_sums_do_not_depend_on_the_order():
    parts = [Q.tally(Q.randomise(["red", "blue"] * n)) for n in (3, 700, 2000)]
    whole = sv.merge(parts)
    assert whole == parts[2] + parts[0] + parts[1] and whole.n == 2 * 2703
    one = parts[0].copy()
    one += parts[1]
    assert one.n == 1406
    with pytest.raises(sv.SottovoceError, match="another protocol"):
        parts[0] + sv.grr(3, 1).tally([0])
    with pytest.raises(TypeError):
        parts[0] + 1


@pytest.mark.parametrize("q", [Q, sv.oue(70, 1), sv.lh(70, 2), sv.block(70, 1)])
@pytest.mark.parametrize("form", ["auto", "patterns", "supports"])
def test_tallies_survive_bytes_and_pickles(q, form, tmp_path):
    values = ["red"] * 1500 if q is Q else [x % 70 for x in range(1500)]
    tally = q.tally(q.randomise(values), form=form)
    for again in (pickle.loads(pickle.dumps(tally)), sv.Tally.from_bytes(tally.to_bytes())):
        assert again == tally and again.to_bytes() == tally.to_bytes()
        assert again.kept == tally.kept
    tally.save(tmp_path / "t.json")
    assert sv.merge([tmp_path / "t.json"]) == tally
    assert tally != q.tally() and tally != 1


def test_a_changed_file_is_noticed():
    text = Q.tally([0, 1]).to_json()
    with pytest.raises(sv.SottovoceError):
        sv.Tally.from_bytes(text.replace('"n": 2', '"n": 3'))
    with pytest.raises(sv.SottovoceError, match="cannot be read"):
        sv.Tally.load("no/such/file.json")


def test_randomisation_has_the_distribution_of_the_protocol():
    """2·10^5 reports, fixed by a test seed: each count is within 5 standard deviations, which fails by chance once in 5·10^5 counts."""
    q = sv.grr(4, 1)
    n = 200_000
    counts = numpy.bincount(q.randomise(numpy.zeros(n, dtype=int), insecure_test_seed=3).to_numpy(), minlength=4)
    truth = numpy.e / (numpy.e + 3)
    expected = n * numpy.array([truth, *[(1 - truth) / 3] * 3])
    assert (abs(counts - expected) < 5 * numpy.sqrt(expected)).all()
