"""From a table to features, the split, the score and the guarantee: by hand, and on odd rows."""

import math

import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.domain.attributes import bins, bounded, categories
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import STAYS_SPENT, GaugedpError, InvalidRequest, UnknownName

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")

from gaugedp.estimators import table_fit
from gaugedp.estimators.held_out import Score, held_out, losses, scores
from gaugedp.estimators.lasso import Lasso
from gaugedp.estimators.regression import LinearRegression
from gaugedp.estimators.table_fit import TableFit, row_share
from gaugedp.estimators.table_models import MODELS, ModelKind
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.releases.executing import PaidRows, execute
from gaugedp.tables.table import Table
from tests.tables.test_table import DOMAIN as ODD_DOMAIN
from tests.tables.test_table import TYPES, make, random_rows

DOMAIN = Domain.of(
    sex=["1", "2"],
    age=bins(0, 100, 50, outside="other"),
    pay=bounded(0, 10, step=0.5),
    debt=bounded(-10, 30, step=10, missing=30),
    ill=categories(["yes", "no"]),
)
ROWS = pa.table(
    {
        "sex": ["1", "2", "1", "9", "2"],
        "age": [10, 70, None, 10, 50],
        "pay": [0.0, 7.5, 99.0, 1.0, None],
        "debt": [10.0, None, -10.0, 0.0, 20.0],
        "ill": ["yes", "no", "no", "yes", "no"],
    }
)
ROW = PrivacyUnit()


def design(features: str = "sex pay age debt", target: str = "ill", by_class: bool = True) -> TableDesign:
    return TableDesign.of(DOMAIN, features.split(), target, by_class)


# -- features --------------------------------------------------------------------------------------


def paid(rows: pa.Table) -> PaidRows:
    return PaidRows(Table.scan(rows, domain=DOMAIN), None, {})


def test_features_of_rows_by_hand():
    made = design()
    assert made.names == ["sex=1", "sex=2", "age=[0,50)", "age=[50,100]", "age=other", "pay", "debt"]
    assert made.row_norm == 2
    assert made.classes == ("yes", "no")
    rows, target = made.read(paid(ROWS), b"key")
    actual = sorted(zip(rows.tolist(), target.tolist(), strict=True))
    assert actual == sorted(
        [
            ([1, 0, 1, 0, 0, -1, 0], 0),
            ([0, 1, 0, 1, 0, 0.5, 1], 1),
            ([1, 0, 0, 0, 1, 1, -1], 1),
            ([0, 1, 0, 1, 0, 0, 0.5], 1),  # no pay: the middle; the fourth row has no sex, and is left out
        ]
    )


def test_a_row_without_a_number_as_target_is_left_out():
    rows, target = design("sex", "pay", by_class=False).read(paid(ROWS), b"key")
    assert sorted(zip(rows.tolist(), target.tolist(), strict=True)) == [([0, 1], 7.5), ([1, 0], 0.0), ([1, 0], 10.0)]
    _, debts = design("age", "debt", by_class=False).read(paid(ROWS), b"key")
    assert sorted(debts) == [-10, 0, 10, 20, 30], "its number stands for a missing one"


def test_no_row_is_longer_than_the_norm(tmp_path):
    table = Table.scan(make("arrow", random_rows(3, 2000), TYPES, tmp_path), domain=ODD_DOMAIN)
    for features in (["age", "income", "code", "debt"], ["loss"], ["region"]):
        made = TableDesign.of(ODD_DOMAIN, features, "sex", True)
        rows, _ = made.read(PaidRows(table, None, {}), b"key")
        lengths = np.linalg.norm(np.vstack([rows, made.public_row()[0]]), axis=1)
        assert lengths.max() <= made.row_norm * (1 + 1e-12)
        assert lengths.max() > 0.99 * made.row_norm, "the bound is met"
        assert np.abs(rows).max() <= 1


def test_coefficients_in_units_give_the_same_scores():
    made = design()
    rng = np.random.default_rng(1)
    slopes, constants = rng.standard_normal((3, 7)), rng.standard_normal(3)
    in_units, constants_in_units = made.in_units(slopes, constants)
    scaled, plain = np.array([[0, 1, 1, 0, 0, 0.5, -1.0]]), np.array([[0, 1, 1, 0, 0, 7.5, -10.0]])
    assert scores(plain, in_units, constants_in_units) == pytest.approx(scores(scaled, slopes, constants))
    assert scores(scaled, slopes, constants) == pytest.approx(scaled @ slopes.T + constants)


def test_the_digest_sees_bounds_and_cells():
    other = Domain.of(**{**DOMAIN.attributes, **DOMAIN.columns, "pay": bounded(0, 20, step=0.5)})
    wider = TableDesign.of(other, ["pay"], "ill", True)
    assert design("pay").digest() == design("pay").digest() != wider.digest()
    assert design("sex").digest() == TableDesign.of(other, ["sex"], "ill", True).digest()


@pytest.mark.parametrize(
    ("features", "target", "by_class", "refusal", "word"),
    [
        ("sex colour", "ill", True, UnknownName, "colour"),
        ("sex", "colour", True, UnknownName, "colour"),
        ("sex", "colour", False, UnknownName, "colour"),
        ("sex", "pay", True, InvalidRequest, "attribute"),
        ("sex", "ill", False, InvalidRequest, "bounded column"),
        ("sex ill", "ill", True, InvalidRequest, "both the target and a feature"),
        ("pay sex pay", "ill", True, InvalidRequest, "must be named once"),
        ("", "ill", True, InvalidRequest, "at least one"),
    ],
)
def test_a_wrong_design_is_refused(features, target, by_class, refusal, word):
    with pytest.raises(refusal, match=word):
        design(features, target, by_class)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("income", "Perhaps it is 'income-per-year'"),
        ("INCOME", "Perhaps it is 'income-per-year'"),
        ("incme-per-year", "Did you mean 'income-per-year'"),
        ("e", "Choose one of: age, income-per-year"),
        ("age income-per-year", "Separate names by commas: age, income-per-year"),
        ("age;income-per-year", "Separate names by commas: age, income-per-year"),
        ("age school", "Choose one of"),
    ],
)
def test_a_near_name_is_named(name, hint):
    domain = Domain.of(**{"age": gd.integers(0, 9), "income-per-year": bounded(0, 9)})
    with pytest.raises(UnknownName, match=hint):
        TableDesign.of(domain, [name], "income-per-year", False)
    if " " not in name and ";" not in name and name != "e":
        with pytest.raises(UnknownName, match=hint):
            TableDesign.of(domain, ["age"], name, False)


@pytest.mark.parametrize("model", [name for name, kind in MODELS.items() if kind.has_radius])
def test_the_radius_reaches_the_model(model):
    table = design("sex", *(() if MODELS[model].by_class else ("pay", False)))
    short, free = (TableFit.plan(table, model, ROW, gd.PureDP(1), None, radius) for radius in (0.25, None))
    assert short._estimator().radius == 0.25
    assert free._estimator().radius == MODELS[model].estimator.radius
    assert short.request()["radius"] == 0.25
    assert short.request() != free.request()
    with pytest.raises(InvalidRequest, match="radius"):
        TableFit.plan(table, model, ROW, gd.PureDP(1), None, -1.0)


def test_the_norm_chooses_the_estimator():
    planned = TableFit.plan(design("sex", "pay", False), "linear", ROW, gd.ApproxDP(1.0, 1e-6), None, 3.0, norm="l1")
    given = planned._estimator()
    assert (type(given), given.radius, given.neighbours) == (Lasso, 3.0, "add_remove")
    assert planned.request()["norm"] == "l1"
    usual = TableFit.plan(planned.design, "linear", ROW, gd.PureDP(1), None, norm="l1")
    assert usual._estimator().radius == usual.request()["radius"] == 1.0
    with pytest.raises(InvalidRequest, match="Reference levels apply only to linear models"):
        TableFit.plan(planned.design, "linear", ROW, gd.PureDP(1), None, norm="l1", reference="sex=1")


def test_a_unit_of_several_rows_shares_the_guarantee_in_any_norm():
    unit = PrivacyUnit("pid", max_rows=3)
    for norm in ("l1", "l2"):
        planned = TableFit.plan(design("sex", "pay", False), "linear", unit, gd.ApproxDP(1.0, 1e-6), None, norm=norm)
        assert planned._estimator().epsilon == pytest.approx(1 / 3)
        assert planned._estimator().delta <= 1e-6 / 3


def test_one_class_and_too_many_features_are_refused():
    domain = Domain.of(one=["1"], day=gd.integers(0, 20_000), sex=["1", "2"])
    with pytest.raises(InvalidRequest, match="one cell"):
        TableDesign.of(domain, ["sex"], "one", True)
    with pytest.raises(InvalidRequest, match="20,001 features"):
        TableDesign.of(domain, ["day"], "sex", True)


# -- the guarantee -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 20.0])
@pytest.mark.parametrize("beside", [0.5, 1.0, 3.0])
def test_the_share_of_a_row_adds_up_to_what_was_asked(size, epsilon, beside):
    largest = max(epsilon, epsilon * beside)
    pure = row_share(gd.PureDP(epsilon), size, largest).group(size)
    assert epsilon * (1 - 1e-8) < pure.epsilon(0) <= epsilon
    share = row_share(gd.ApproxDP(epsilon, 1e-6), size, largest)
    fitted = share.group(size)
    assert epsilon * (1 - 1e-8) < fitted.epsilon_value <= epsilon
    assert fitted.delta_value <= 1e-6
    both = gd.ApproxDP(largest / size, share.delta_value).group(size)  # what a step of either kind keeps
    assert 1e-6 * (1 - 1e-7) < both.delta_value <= 1e-6 * (1 + 1e-11)


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        (PrivacyUnit(), 1),
        (PrivacyUnit(neighbours="replace"), 2),
        (PrivacyUnit("pid", max_rows=3), 3),
        (PrivacyUnit("pid", "replace", 3), 6),
    ],
)
def test_a_unit_is_a_group_of_rows(unit, size):
    assert unit.most_changes == size
    planned = TableFit.plan(design("sex", "pay", False), "linear", unit, gd.ApproxDP(1.0, 1e-6), 2.0)
    assert planned.guarantee == gd.ApproxDP(2.0, 1e-6)
    given = planned._estimator()
    assert given.neighbours == "add_remove"
    assert given.epsilon == pytest.approx(1 / size)
    assert given.delta <= 1e-6 / size
    body = planned.score.prepare(gd.research_rng(1)).noise.mechanism.body
    assert body.radius(1) == size


@pytest.mark.parametrize(
    ("requested", "score", "guarantee"),
    [
        (gd.PureDP(1), None, gd.PureDP(1)),
        (gd.PureDP(1), 0.5, gd.PureDP(1)),
        (gd.PureDP(1), 3.0, gd.PureDP(3)),
        (gd.ApproxDP(1, 1e-6), 1.0, gd.ApproxDP(1, 1e-6)),
        (gd.ApproxDP(1, 1e-6), 3.0, gd.ApproxDP(3, 1e-6)),
    ],
)
def test_fit_and_score_cost_the_larger_of_the_two(requested, score, guarantee):
    planned = TableFit.plan(design("sex", "pay", False), "linear", ROW, requested, score)
    assert planned.guarantee == guarantee
    assert planned.guarantee_of_parts.epsilon(1e-6) <= (requested.epsilon(1e-6) + (score or 0)) * (1 + 1e-9)


# -- the split and the score -----------------------------------------------------------------------


@pytest.mark.statistical
def test_a_fifth_is_held_out_by_coins_of_its_own():
    """Keys are fixed; at new ones a false alarm has probability below 1e-6 (five deviations)."""
    apart = held_out(100_000, gd.research_rng(1))
    assert abs(apart.mean() - 0.2002) < 5 * math.sqrt(0.16 / 100_000)
    assert abs(np.mean(apart[1:] & apart[:-1]) - 0.2002**2) < 5 * math.sqrt(0.04 / 100_000)
    assert not np.array_equal(apart, held_out(100_000, gd.research_rng(2)))


def test_losses_by_hand():
    two = design("sex")
    assert losses(two, np.array([[1.0], [0.0], [-1.0]]), np.array([1, 1, 0])).tolist() == [0, 1, 0]
    assert losses(two, np.array([[1.0, 2.0], [2.0, 2.0]]), np.array([0, 0])).tolist() == [1, 0]
    number = design("sex", "pay", by_class=False)
    assert losses(number, np.array([[5.0], [-99.0], [99.0]]), np.array([10.0, 10.0, 0.0])).tolist() == [0.5, 1, 1]
    assert losses(number, np.array([[5.0]]), np.array([99.0])).tolist() == [1], "a target outside its bounds, too"
    assert losses(number, np.array([[math.nan]]), np.array([5.0])).tolist() == [1], "and what is no number"


def test_a_score_without_noise_is_the_mean_and_no_rows_have_none():
    values = np.array([0.0, 0.25, 1.0, 1.0])
    mean, low, high = Score(1e6, 1).prepare(gd.research_rng(1)).mean(values)
    assert mean == pytest.approx(0.5625, abs=1e-4)
    assert low <= mean <= high <= low + 1e-3
    mean, low, high = Score(0.1, 1).prepare(gd.research_rng(1)).mean(np.empty(0))
    assert 0 <= low <= mean <= high <= 1


@pytest.mark.statistical
def test_the_interval_holds_the_true_mean_and_a_narrower_one_does_not():
    """Of 400 intervals at 95 %, 368 or more hold the mean: fewer has probability below 0.4 %; keys are fixed."""
    values = np.repeat([0.0, 1.0], [12, 28])
    rng = gd.research_rng(5)
    results = [Score(0.5, 2).prepare(rng).mean(values) for _ in range(400)]
    held = sum(low <= 0.7 <= high for _, low, high in results)
    narrow = sum(mean - (mean - low) / 4 <= 0.7 <= mean + (high - mean) / 4 for mean, low, high in results)
    assert held >= 368
    assert narrow < 368


def test_one_row_moves_the_sums_by_one():
    """In ℓ₁, whatever its loss, but for the rounding to the lattice that the noise is calibrated with."""

    def sums(values: np.ndarray) -> np.ndarray:
        ready = Score(1.0, 1).prepare(gd.research_rng(3))  # the same noise
        seen = []
        noise = ready.noise
        object.__setattr__(ready, "noise", lambda answer: seen.append(answer) or noise(answer))
        ready.mean(values)
        assert noise.mechanism.lattice_step == ready.step
        return seen[0] * ready.step

    rest = np.array([0.3, 0.9])
    for loss in (0.0, 1.0, 0.5, 1 / 3, 1e-9):
        moved = np.abs(sums(np.append(rest, loss)) - sums(rest)).sum()
        assert moved == pytest.approx(1, abs=2 * 2**-13)


@pytest.mark.statistical
def test_the_noise_has_the_size_that_the_guarantee_needs():
    """At ε = 0.5 and two rows a unit: deviation √2·4 on each sum, seen within 5 %; keys are fixed."""
    values, rng, seen = np.repeat([0.0, 1.0], [120, 280]), gd.research_rng(6), []
    for _ in range(3000):
        ready = Score(0.5, 2).prepare(rng)
        noise = ready.noise
        object.__setattr__(ready, "noise", lambda answer, noise=noise: seen.append(noise(answer)) or seen[-1])
        ready.mean(values)
    released = np.array(seen) * ready.step
    assert released.mean(axis=0) == pytest.approx([280, 120], abs=0.6)
    assert released.std(axis=0) == pytest.approx([math.sqrt(2) * 4] * 2, rel=0.05)


# -- the whole -------------------------------------------------------------------------------------


class Kept(LinearRegression):
    """Remembers what it was fitted to."""

    seen: list[tuple[np.ndarray, np.ndarray]] = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append((X, y))
        return super().fit(X, y)


def big_table(n: int = 1500) -> Table:
    rng = np.random.default_rng(1)
    rows = {"sex": rng.choice(["1", "2", "3"], n), "age": rng.integers(0, 100, n), "pay": rng.uniform(0, 10, n)}
    more = {"debt": rng.uniform(-10, 30, n), "ill": rng.choice(["yes", "no"], n)}
    return Table.scan(pa.table({**rows, **more}), domain=DOMAIN)


def clear_table(n: int = 2000) -> Table:
    """Pay = 2 + debt/10, half more for the second sex; ill where the debt is above 10."""
    rng = np.random.default_rng(2)
    sex, debt = rng.choice(["1", "2"], n), rng.integers(-1, 4, n) * 10.0
    ill = np.where(debt > 10, "yes", "no")
    return Table.scan(
        pa.table(dict(sex=sex, age=[1] * n, pay=2 + debt / 10 + (sex == "2") / 2, debt=debt, ill=ill)), domain=DOMAIN
    )


def test_without_noise_the_rule_comes_back_in_the_units_of_the_table():
    planned = TableFit.plan(design("debt sex", "pay", False), "linear", ROW, gd.PureDP(1e7), 1e7)
    actual = execute(planned, None, clear_table(), rng=gd.research_rng(1))
    weights = actual["coefficients"]
    assert weights["debt"] == pytest.approx(0.1, abs=2e-3)
    assert weights["sex=2"] - weights["sex=1"] == pytest.approx(0.5, abs=0.05)
    assert actual["intercept"] + weights["sex=1"] + 20 * weights["debt"] == pytest.approx(4, abs=0.05)
    assert actual["score"]["value"] < 0.05


@pytest.mark.parametrize("model", ["logistic", "svc"])
def test_without_noise_the_classes_are_told_apart_in_the_units_of_the_table(model):
    planned = TableFit.plan(design("debt"), model, ROW, gd.PureDP(1e4), 1e4)
    actual = execute(planned, None, clear_table(), rng=gd.research_rng(1))
    assert actual["classes"] == ["yes", "no"]
    assert actual["score"]["value"] > 0.99
    assert actual["intercept"] + 10 * actual["coefficients"]["debt"] > 0, "no, the second class"
    assert actual["intercept"] + 20 * actual["coefficients"]["debt"] < 0, "yes"


@pytest.mark.parametrize("model", ["logistic", "svc"])
def test_the_public_row_belongs_to_no_class(model):
    from gaugedp.estimators.logistic import LogisticRegression
    from gaugedp.estimators.svc import LinearSVC

    given = {"epsilon": 1.0, "classes": [0, 1, 2], "row_norm": 2.0, "random_state": 1}
    estimator = {"logistic": LogisticRegression, "svc": LinearSVC}[model](**given)
    rows, codes = np.array([[1.0, 0], [0, 1.0], [-1, 0]] * 20), np.tile([0, 1, 2], 20)
    other = np.where(np.arange(60) == 59, -1, codes)
    moved = rows.copy()
    moved[59] = [0.5, 0.5]
    assert estimator.fit(rows, other).coef_.tolist() == estimator.fit(moved, other).coef_.tolist()
    assert design("sex").public_row()[1].tolist() == [-1]


def test_a_row_is_fitted_or_scored_and_never_both(monkeypatch):
    Kept.seen.clear()
    scored = []
    monkeypatch.setitem(MODELS, "linear", ModelKind(Kept, by_sums=True))
    monkeypatch.setattr(
        table_fit, "losses", lambda made, found, target: scored.append(target) or losses(made, found, target)
    )
    made, table = design("sex age debt", "pay", by_class=False), big_table()
    planned = TableFit.plan(made, "linear", ROW, gd.PureDP(1), 1.0)
    assert [len(rows) for rows, _ in Kept.seen] == [1], "planning sees the public row alone"
    found = execute(planned, None, table, rng=gd.research_rng(1))
    _, everyone = made.read(PaidRows(table, None, {}), b"any")
    rows, fitted = Kept.seen[1]
    assert rows[-1].tolist() == made.public_row()[0][0].tolist()
    assert sorted([*fitted[:-1], *scored[0]]) == sorted(everyone)
    assert 0.15 < len(scored[0]) / len(everyone) < 0.25
    assert found["score"]["lower"] <= found["score"]["value"] <= found["score"]["upper"] <= 10


def test_without_a_score_every_row_is_fitted_and_none_is_scored(monkeypatch):
    Kept.seen.clear()
    monkeypatch.setitem(MODELS, "linear", ModelKind(Kept, by_sums=True))
    for name in ("losses", "scores", "held_out"):
        monkeypatch.setattr(table_fit, name, lambda *_: pytest.fail("a score was computed"))
    made, table = design("sex", "pay", by_class=False), big_table()
    actual = execute(TableFit.plan(made, "linear", ROW, gd.PureDP(1), None), None, table, rng=gd.research_rng(1))
    assert len(Kept.seen[1][0]) == len(made.read(PaidRows(table, None, {}), b"any")[0]) + 1
    assert actual["score"] is None


@pytest.mark.parametrize("trouble", [ValueError("SECRET"), InvalidRequest("SECRET.", "SECRET."), FloatingPointError()])
def test_trouble_after_paying_is_told_without_its_words(monkeypatch, trouble):
    def fail(*_):
        raise trouble

    planned = TableFit.plan(design("sex", "pay", False), "linear", ROW, gd.PureDP(1), None)
    monkeypatch.setattr(LinearRegression, "fit", fail)
    with pytest.raises(GaugedpError) as raised:
        execute(planned, None, big_table(10))
    assert str(raised.value).endswith(STAYS_SPENT)
    assert "SECRET" not in str(raised.value)
    assert raised.value.__context__ is None
