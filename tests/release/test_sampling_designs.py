"""Total intervals for strata and clusters: their body, their formulas, the noise that is subtracted, and refusals."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.queries.stacked import shared
from gaugedp.releases.sampling_error import _freedom, sampling_errors
from gaugedp.releases.verification.check import verify
from gaugedp.report.html import render
from gaugedp.statistics.base import split_answers
from tests.queries.test_sensitivity import PERSON, REPLACED, ROW, check_holds
from tests.queries.test_weights import hull_of

DESIGNS = [{"strata": "s"}, {"clusters": "c"}, {"strata": "s", "clusters": "c"}]
TEXTS = ["mean(v) by a; share(a)", "weighted count by s", "sum(v); mean(z); ratio(a)"]
WEIGHTS = [gd.bounded(2, 5), gd.bounded(0, 1, 0.5)]


def small(weight, design, missing):
    columns = {"v": gd.bounded(-1, 2, missing=missing), "z": gd.bounded(2, 4)}
    cells = {"a": ["x", "y"], "s": ["n", "o"], "c": gd.integers(1, 2)}
    return gd.Domain.of(**cells, **columns).with_weights("p", weight, **design)


def sums(domain, text):
    """The parts of a release with total intervals that serve the sampling errors."""
    query = gd.query(domain, text)
    return gd.with_sampling_error(query).parts[len(query.parts) :]


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=repr)
@pytest.mark.parametrize(("weight", "missing"), [(WEIGHTS[0], "drop"), (WEIGHTS[1], "drop"), (WEIGHTS[0], 0)])
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_body_holds_all_neighbours_of_the_sums(design, weight, missing, unit) -> None:
    for text in TEXTS[: 2 if unit == REPLACED else 3]:
        for part in sums(small(weight, design, missing), text):
            check_holds(part, unit)
            attained, stated = hull_of(part, unit)
            assert "squares(" in part.text or np.allclose(attained, stated, rtol=1e-9)


def test_no_persons_differ_by_more_than_the_body_of_the_sums() -> None:
    for design in DESIGNS:
        for part in sums(small(WEIGHTS[0], design, 0), "mean(v)"):
            check_holds(part, PERSON)


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=repr)
def test_noise_of_the_sums_is_checked_before_the_charge_and_is_what_a_row_needs(unit) -> None:
    """A row adds its weight to the parts of one column, all together: so much noise, and no more."""
    domain = small(WEIGHTS[0], DESIGNS[2], "drop")
    (part,) = sums(domain, "mean(v) by a; weighted count by a; share(a)")
    plan = gd.plan(part, unit, epsilon=1.0)
    assert {offer.mechanism.form for offer in plan.candidates} == {"independent"}  # so what is subtracted is known
    assert plan.certificate["kind"] == "none"
    mechanism = plan.mechanism
    assert (mechanism.name, verify(part, mechanism, unit).verified) == ("Laplace", "exact")
    counts = mechanism.variances[-part.n_answers :]
    factor = 2 if unit == REPLACED else 1
    assert counts == pytest.approx(2 * (5 * factor) ** 2, rel=0.01)
    for power in (1, 2):
        for design in DESIGNS[: 3 - power]:
            for own in sums(domain.with_weights("p", WEIGHTS[0], **design), "mean(v) by a"):
                assert verify(own, gd.plan(own, unit, epsilon=1.0).mechanism, unit).verified != "none"


N_CLUSTERS = 40
NESTED = gd.tree({"region": [f"r{k // 8}" for k in range(N_CLUSTERS)], "psu": [f"p{k:02d}" for k in range(N_CLUSTERS)]})
TEXT = "weighted count by sex; mean(pay) by sex; share(sex); sum(pay); mean(pay) by region; ratio(sex); difference(sex)"
TEXT += "; change(sex); share(region) by sex"
OF_PSU = [{"strata": "region"}, {"clusters": "psu"}, {"strata": "region", "clusters": "psu"}]


def domain_of(design):
    facts = {"sex": ["f", "m"], "pay": gd.bounded(0, 100), "psu": NESTED}
    return gd.Domain.of(**facts).with_weights("w", gd.bounded(50, 150), **design)


def sample(n=4000):
    draw = np.random.default_rng(3)
    psu = draw.integers(0, N_CLUSTERS, n)
    pay = np.clip(np.round(50 + 20 * draw.normal(size=n) + 5 * (psu % 7) - 3 * (psu // 8)), 0, 100)
    rows = pd.DataFrame({"psu": psu, "sex": draw.choice(["f", "m"], n), "pay": pay, "w": draw.integers(50, 151, n)})
    return rows.assign(psu=[f"p{k:02d}" for k in psu], region=[f"r{k // 8}" for k in psu])


def released(domain, rows, text, epsilon):
    table = gd.Table.scan(rows, domain=domain, name="survey")
    ledger = gd.Ledger.in_memory(gd.PureDP(1e9))
    return gd.release(gd.query(domain, text), table, ledger=ledger, epsilon=epsilon, intervals="total")


def errors_of_a_survey_package(rows, design):
    """The linearised standard errors of TEXT: for each term, of each row's z the variance between sums of clusters."""
    w, x, n = rows.w.to_numpy(float), rows.pay.to_numpy(float), len(rows)
    strata = rows.region if "strata" in design else np.zeros(n)
    clusters = rows.psu if "clusters" in design else np.arange(n)

    def error(z):
        total = pd.Series(w * z).groupby([np.asarray(strata), np.asarray(clusters)]).sum()
        return np.sqrt(sum(len(own) * own.var() for _, own in total.groupby(level=0)))

    def of_mean(own):
        return error(own * (x - np.average(x[own], weights=w[own]))) / w[own].sum()

    f, m = ((rows.sex == sex).to_numpy() for sex in "fm")
    regions = [(rows.region == region).to_numpy() for region in sorted(set(rows.region))]
    share, ratio = w[f].sum() / w.sum(), w[m].sum() / w[f].sum()
    of_ratio = error(1.0 * m - ratio * f) / w[f].sum()
    cells = [(own, sex) for own in regions for sex in (f, m)]
    of_shares = [error(sex * (own - w[own & sex].sum() / w[sex].sum())) / w[sex].sum() for own, sex in cells]
    of_sexes = [[error(f), error(m)], [of_mean(f), of_mean(m)], [error(f - share)] * 2 / w.sum(), [error(x)]]
    comparisons = [[of_ratio], [error(1.0 * m - f)], [100 * of_ratio]]
    return [*of_sexes, [of_mean(own) for own in regions], *comparisons, of_shares]


@pytest.mark.parametrize("design", [{}, *OF_PSU], ids=str)
def test_without_noise_errors_are_those_of_a_survey_package(design) -> None:
    rows = sample()
    answer = released(domain_of(design), rows, TEXT, 1e6)
    for actual, own in zip(answer.sampling_errors, errors_of_a_survey_package(rows, design), strict=False):
        assert actual == pytest.approx(np.asarray(own), rel=2e-3)
    again = gd.Release.from_json(answer.to_json())
    for at_once in (False, True):
        assert np.array_equal(again.interval(0.95, at_once), answer.interval(0.95, at_once))


def test_intervals_of_clustered_samples_use_student_quantiles() -> None:
    answer = released(domain_of(OF_PSU[2]), sample(), "mean(pay)", 1e6)
    low, high = answer.interval()
    quantile = (high - low)[0] / answer.sampling_errors[0][0] / 2
    assert 2.0301 <= quantile < 2.1  # of 35 degrees of freedom, or less where clusters differ in their shares
    assert answer.intervals == "total"


@pytest.mark.parametrize("design", OF_PSU, ids=str)
def test_the_noise_of_squared_sums_is_subtracted(design, monkeypatch) -> None:
    """The mean estimate over draws of the noise is the variance without noise, within five standard errors."""
    monkeypatch.setattr("gaugedp.releases.sampling_error._raised", lambda values, noise: values)  # noqa: ARG005
    domain, times = domain_of(design), 300
    query = gd.with_sampling_error(gd.query(domain, "weighted count by sex; mean(pay) by sex"))
    table = gd.Table.scan(sample(), domain=domain, name="survey")
    plan = gd.plan(query, ROW, epsilon=2.0)
    exact = [part.evaluate(table, bytes(16)) for part in query.parts]
    noise = [part.sample_noise(times, gd.research_rng(5)) for part in plan.mechanism.parts]
    steps, outlines, estimates = query.steps.sizes, query.outlines, query.estimates
    deviations = np.sqrt(plan.mechanism.variances) * steps

    def variances(draw):
        own = [
            exact[0],
            *(part + (0 if draw is None else e[draw]) for part, e in zip(exact[1:], noise[1:], strict=True)),
        ]
        errors = sampling_errors(outlines, estimates, np.concatenate(own).astype(float) * steps, deviations)
        return np.concatenate([error.deviations**2 for error in errors[:2]])

    with np.errstate(invalid="ignore"):  # a negative estimate has no root
        found = np.array([variances(draw) for draw in range(times)])
    assert np.isfinite(found).all()
    deviations = 0 * deviations
    apart = found.mean(axis=0) - variances(None)
    assert (np.abs(apart) < 5 * found.std(axis=0) / np.sqrt(times)).all()


def test_sums_serve_the_terms_whose_rows_they_are_about() -> None:
    domain = gd.Domain.of(sex=["1", "2"], age=["y", "z"], region=["n", "s"], pay=gd.bounded(0, 100)).with_weights(
        "w", gd.bounded(1, 5), strata="region"
    )
    tables = [gd.query(domain, text) for text in ("mean(pay); sex", "sum(pay); age")]
    query = gd.with_sampling_error(shared(tables, [0.5, 0.5]))
    texts = [text for text, _ in query.labels.terms]
    assert "weighted squares(pay) by region of rows with sex" in texts
    assert "weighted totals(pay) by region of rows with age" in texts
    assert texts[-1] == "rows by region"


def test_a_page_states_the_design_and_squares_without_it_do_not_serve() -> None:
    rows, words = sample(400), ["replacement within strata", "as if clusters had", "as if clusters had"]
    for design, said in zip(OF_PSU, words, strict=True):
        assert said in render(released(domain_of(design), rows, "mean(pay)", 5.0))
    domain = domain_of(OF_PSU[1])
    table = gd.Table.scan(rows, domain=domain, name="survey")
    query = gd.query(domain, "squared weights(pay)")
    alone = gd.query(domain, "mean(pay)")
    answer = gd.release(
        shared([alone, query], [0.5, 0.5]), table, ledger=gd.Ledger.in_memory(gd.PureDP(9)), epsilon=1.0
    )
    assert answer.intervals == "noise"
    assert not np.concatenate(answer.sampling_errors).any()
    assert len(split_answers(answer.estimates, answer.values)) == 2


FILE = """
[attributes]
sex = ["1", "2"]
one = ["only"]
other = { values = ["1", "2"], outside = "other" }
key = { keys = "unknown", most = 10 }
PSU = { tree = "areas.csv" }
[columns]
pay = { low = 0, high = 100 }
[weights]
column = "w"
low = 1
high = 5
"""


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('strata = "REGION"', "strata are given by 'REGION', which is not an"),
        ('clusters = "pay"', "clusters are given by 'pay', which is not an"),
        ('strata = "key"', "given by key, whose categories are not known"),
        ('clusters = "one"', "contains a single cluster of one"),
        ('strata = "AREA"\nclusters = "PSU"', "contains a single cluster of PSU"),
        ('strata = "PSU"\nclusters = "AREA"', "AREA do not lie within the strata PSU"),
        ('clusters = "other"', 'have an additional cell "other"'),
        ('clusters = ["sex"]', r"`clusters` in .weights. is \['sex'\]"),
        ('replicates = "PWGTP1..PWGTP80"', "strata and clusters"),
    ],
)
def test_designs_that_cannot_be_are_refused(more, says, tmp_path) -> None:
    (tmp_path / "areas.csv").write_text("AREA,PSU\nn,1\nn,2\ns,3\n", "utf-8")
    path = tmp_path / "domain.toml"
    path.write_text(FILE + more, "utf-8")
    with pytest.raises(gd.GaugedpError, match=says) as refused:
        gd.Domain.load(path)
    assert "nothing was spent" in str(refused.value)


def test_degrees_of_freedom_are_those_of_the_clusters_that_share_a_sum() -> None:
    draw, strata = np.random.default_rng(4), np.repeat(np.arange(10), 20)
    squares = draw.normal(size=(200, 3)) ** 2
    squares[20:, 1] = 0  # one stratum
    squares[2:, 2], squares[:2, 2] = 0, 1  # two clusters
    freedom = _freedom(squares, strata)
    assert 100 < freedom[0] <= 190
    assert 5 < freedom[1] <= 19
    assert freedom[2] == pytest.approx(3)
    assert _freedom(np.ones((4, 1)), np.array([0, 0, 1, 1])) == pytest.approx(2)
    assert _freedom(np.array([[1.0], [1.0], [0.0], [0.0]]), np.array([0, 0, 1, 1])) == 1


def test_cells_within_clusters_are_refused_and_one_attribute_is_not_both() -> None:
    domain = domain_of(OF_PSU[1])
    for text in ("mean(pay) by psu", "share(sex) by psu"):
        with pytest.raises(gd.InvalidRequest, match="within a single cluster"):
            gd.with_sampling_error(gd.query(domain, text))
    with pytest.raises(gd.InvalidRequest, match="both strata and clusters"):
        small(WEIGHTS[0], {"strata": "s", "clusters": "s"}, "drop")
    with pytest.raises(gd.UnknownName, match="not an attribute"):
        small(WEIGHTS[0], {"strata": ["s"]}, "drop")


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_tables_with_and_without_the_strata_share_their_sums(design) -> None:
    domain = small(WEIGHTS[0], design, "drop")
    texts = ("mean(v)", "mean(v) by s", "ratio(a)", "difference(a) by s")
    stack = shared([gd.query(domain, text) for text in texts], [Fraction(1, 4)] * 4)
    names = [text for text, _ in gd.with_sampling_error(stack).labels.terms]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("text", ["sex", "median(pay)", "unweighted mean(pay)"])
def test_clusters_without_a_term_that_has_total_intervals_are_refused(text) -> None:
    domain, ledger = domain_of(OF_PSU[1]), gd.Ledger.in_memory(gd.PureDP(1))
    table = gd.Table.scan(sample(9), domain=domain, name="survey")
    with pytest.raises(gd.InvalidRequest, match="No sampling error"):
        gd.release(gd.query(domain, text), table, ledger=ledger, epsilon=1.0, intervals="total")
    assert ledger.spent == gd.PureDP(0)
    with pytest.raises(gd.InvalidRequest, match="no weights are specified"):
        gd.Domain(domain.attributes, design=domain.design)
