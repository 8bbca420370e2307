"""Private PCA and the top eigenvector: what they fit, what they guarantee, scikit-learn's contract. Keys are fixed."""

import math
from dataclasses import replace

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA as Plain
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from gaugedp.estimators import spectral
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.pca import PCA, TopEigenvector
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.spectral import BallScaling
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from tests.estimators.kit import check_habits

BOTH = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
DELTAS = pytest.mark.parametrize("delta", [0.0, 1e-6])


def made_rows(n: int = 3000, d: int = 5, key: int = 1) -> np.ndarray:
    rng = np.random.default_rng(key)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    rows = (rng.standard_normal((n, d)) * np.linspace(1, 0.2, d) ** 2) @ turn.T + 0.5
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True) / 3)


def spiked(n: int, d: int, key: int) -> np.ndarray:
    rng = np.random.default_rng(key)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    rows = rng.standard_normal((n, d)) * np.r_[1.0, 0.6, 0.4, np.full(d - 3, 0.3 / math.sqrt(d))] @ turn.T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


ROWS = made_rows()


# -- what they find ----------------------------------------------------------------------------------


@pytest.mark.many
@BOTH
@pytest.mark.parametrize(("delta", "solver"), [(0.0, "auto"), (1e-6, "gaussian"), (1e-6, "oja"), (1e-6, "exponential")])
@pytest.mark.parametrize("given", [{"row_norm": 3.0}, {"bounds": (-4, 5)}])
def test_without_noise_it_is_plain_pca(given: dict, delta: float, solver: str, neighbours: str) -> None:
    plain = Plain(3).fit(ROWS)
    model = PCA(3, 1e7, delta, solver=solver, neighbours=neighbours, random_state=1, **given).fit(ROWS)
    signs = np.sign((plain.components_ * model.components_).sum(axis=1))
    assert model.components_ == pytest.approx(plain.components_ * signs[:, None], abs=0.02)
    assert model.mean_ == pytest.approx(plain.mean_, abs=0.01)
    assert model.explained_variance_ == pytest.approx(plain.explained_variance_, rel=0.02)
    assert model.transform(ROWS) == pytest.approx(plain.transform(ROWS) * signs, abs=0.1)
    shares = model.explained_variance_ratio_
    assert (shares is not None) == (model.solver_ == "gaussian")
    assert shares is None or shares == pytest.approx(plain.explained_variance_ratio_, rel=0.02)
    again = model.inverse_transform(model.transform(ROWS))
    assert again == pytest.approx(plain.inverse_transform(plain.transform(ROWS)), abs=0.1)


@pytest.mark.parametrize("given", [{"row_norm": 3.0}, {"bounds": (-4, 5)}])
@DELTAS
def test_a_public_centre_is_the_middle_or_zero(given: dict, delta: float) -> None:
    model = PCA(2, 1e7, delta, centre="public", random_state=1, **given).fit(ROWS)
    middle = np.zeros(5) if "row_norm" in given else np.full(5, 0.5)
    assert (model.mean_ == middle).all()
    assert not model.release_.facts["mean"]
    values = np.linalg.eigvalsh((ROWS - middle).T @ (ROWS - middle) / (len(ROWS) - 1))[::-1]
    assert model.explained_variance_ == pytest.approx(values[:2], rel=0.01)


def test_columns_of_other_widths_keep_their_units() -> None:
    scales = np.array([1.0, 10, 0.1, 1, 5])
    rows = ROWS * scales + [0, 100, 0, -7, 0]
    model = PCA(2, 1e8, 1e-6, bounds=(rows.min(axis=0) - 1, rows.max(axis=0) + 1), random_state=1).fit(rows)
    plain = Plain(2).fit(rows)
    assert np.abs((plain.components_ * model.components_).sum(axis=1)) == pytest.approx(1.0, abs=1e-3)
    assert model.explained_variance_ == pytest.approx(plain.explained_variance_, rel=0.01)


@BOTH
@DELTAS
@pytest.mark.parametrize("given", [{"row_norm": 3.0}, {"bounds": (-3, 4)}])
def test_without_noise_the_top_eigenvector_is_that_of_second_moments(given, delta: float, neighbours: str) -> None:
    model = TopEigenvector(1e7, delta, neighbours=neighbours, random_state=1, **given).fit(ROWS)
    values, vectors = np.linalg.eigh(ROWS.T @ ROWS / len(ROWS))
    assert abs(model.component_ @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-4)
    assert model.eigenvalue_ == pytest.approx(values[-1], rel=0.01)


def test_errors_are_small_where_there_are_rows_enough() -> None:
    """Means of ten fits of 5,000 rows of 30 columns at ε = 1: near Σσ²/gap/n and (d − 1)/(0.95·εn)."""
    rows, d = spiked(5000, 30, 7), 30
    square = rows.T @ rows / 5000
    values = np.linalg.eigvalsh(square)[::-1]
    formula = float((1 / (values[0] - values[1:])).sum()) / (5000 * gaussian_mu(1.0, 1e-6)) ** 2
    for delta, expected in ((1e-6, formula), (0.0, (d - 1) / (0.95 * 5000))):
        fits = [TopEigenvector(1.0, delta, row_norm=1.0, random_state=key).fit(rows) for key in range(10)]
        lost = np.mean([values[0] - fit.component_ @ square @ fit.component_ for fit in fits])
        assert 0.5 * expected < lost < 1.6 * expected


def test_explained_variance_is_less_what_noise_adds() -> None:
    """60 columns, 1,000 rows, ε = 1: noise alone has an edge above the least variances shown."""
    rows = spiked(1000, 60, 3)
    plain = Plain(3).fit(rows)
    fits = [PCA(3, 1.0, 1e-6, row_norm=1.0, centre="public", random_state=key).fit(rows) for key in range(20)]
    actual = np.mean([fit.explained_variance_ for fit in fits], axis=0)
    assert actual[:2] == pytest.approx(plain.explained_variance_[:2], rel=0.05)
    shares = np.mean([fit.explained_variance_ratio_ for fit in fits], axis=0)
    assert shares[:2] == pytest.approx(plain.explained_variance_ratio_[:2], rel=0.1)
    assert all(fit.explained_variance_ratio_.sum() <= 1 for fit in fits)
    raw = np.sqrt(60) / gaussian_mu(1.0, 1e-6) / 1000  # half the noise's edge
    assert actual[2] < plain.explained_variance_[2] + raw / 2


def test_the_mean_pays_on_digits() -> None:
    """At ε = 1 five components hold over 85 % of what they can; around the middle of the bounds less."""
    rows = load_digits().data
    centred = rows - rows.mean(axis=0)

    def held(model) -> float:
        return float(((centred @ model.components_.T) ** 2).sum())

    best = held(Plain(5).fit(rows))
    model = PCA(5, 1.0, 1e-6, bounds=(0, 16), random_state=1)
    assert held(model.fit(rows)) > 0.85 * best
    assert held(clone(model).set_params(centre="public").fit(rows)) < 0.8 * best


# -- what they guarantee -------------------------------------------------------------------------------


@BOTH
@DELTAS
@pytest.mark.parametrize("kind", [PCA, TopEigenvector])
def test_the_guarantee_is_the_one_asked_for_and_the_ledger_pays_it_first(kind, delta: float, neighbours: str) -> None:
    unit = gd.PrivacyUnit(neighbours=neighbours)
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5) if delta else gd.PureDP(1.5), unit=unit)
    model = kind(epsilon=1.0, delta=delta, row_norm=3.0, neighbours=neighbours, ledger=ledger, random_state=1)
    model.fit(ROWS)
    assert 0.96 < model.guarantee_.epsilon(delta) <= 1.0
    assert 0.9 < ledger.spent.epsilon(delta) <= 1.0
    with pytest.raises(gd.errors.LedgerRefused):
        model.fit(ROWS)


@BOTH
@pytest.mark.parametrize("centre", ["mean", "public"])
@pytest.mark.parametrize("solver", ["gaussian", "oja", "exponential"])
def test_the_parts_of_a_fit_keep_the_guarantee_together(solver: str, centre: str, neighbours: str, monkeypatch) -> None:
    """Whatever is calibrated on the way, composed, is within what the fit says."""
    parts: list = []
    for kind in (spectral.NoisyMoments, spectral.Oja, spectral.SphereExponential):
        original = kind.calibrate.__func__

        def noted(cls, *given, original=original):
            made = original(cls, *given)
            parts.append(made.guarantee)
            return made

        monkeypatch.setattr(kind, "calibrate", classmethod(noted))
    original_centre = spectral._centre

    def centred(*given):
        made = original_centre(*given)
        parts.append(made.noise.guarantee)
        return made

    monkeypatch.setattr(spectral, "_centre", centred)
    model = PCA(2, 1.0, 1e-6, row_norm=3.0, centre=centre, solver=solver, neighbours=neighbours, random_state=1)
    model.fit(ROWS)
    assert len(parts) == 2 * (2 if centre == "mean" else 1)
    parts = parts[len(parts) // 2 :]  # the first half is the plan that is made before paying
    delta = 0.0 if solver == "exponential" else 1e-6
    share = 0.9 if neighbours == "add_remove" else 1.0
    total = gd.guarantees.compose([(part, 1) for part in parts])
    assert 0.97 * share < total.epsilon(delta) <= share * (1 + 1e-9)
    assert model.guarantee_.epsilon(delta) <= 1.0


def _frame(bounds, row_norm: float | None, n_columns: int, centred: bool) -> BallScaling:
    return BallScaling.of(Reading.of(bounds, None, n_columns, False), row_norm, centred)


@BOTH
def test_one_row_moves_what_is_summed_within_the_ball(neighbours: str) -> None:
    """Rows far outside, NaN, infinite: all land in the unit ball, each by itself."""
    rows = np.array([[1e300, -1e300, 5], [np.nan, 1, 2], [np.inf, 0, 0], [0.1, 0.2, 0.3], [-np.inf, np.nan, 1e-300]])
    for frame in (_frame((-1, 2), None, 3, True), _frame(([0, 0, 0], [1, 5, 1e9]), None, 3, False),
                  _frame(None, 0.5, 3, True)):  # fmt: skip
        unit = frame.unit(rows)
        assert np.isfinite(unit).all()
        assert np.linalg.norm(unit, axis=1).max() <= 1 + 1e-12
        assert (frame.unit(rows[2:3]) == unit[2:3]).all()
    assert (_frame(None, 0.5, 3, True).unit(rows)[[1, 2, 4]] == 0).all()
    assert _frame((-1, 2), None, 3, True).unit(rows[1:2])[0] == pytest.approx(np.array([0, 0.5, 1.5]) / 1.5 / 3**0.5)
    model = PCA(1, 1.0, 1e-6, bounds=(-1, 2), neighbours=neighbours).fit(rows)
    assert np.isfinite(model.components_).all()


def test_the_order_of_rows_changes_nothing() -> None:
    order = np.random.default_rng(2).permutation(len(ROWS))
    for delta, solver in ((1e-6, "gaussian"), (1e-6, "oja"), (0.0, "exponential")):
        model = PCA(2, 1.0, delta, solver=solver, row_norm=3.0, random_state=1)
        assert (model.fit(ROWS).components_ == clone(model).fit(ROWS[order]).components_).all()


# -- which solver ------------------------------------------------------------------------------------


def test_the_solver_is_chosen_by_public_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(rows: np.ndarray, **given) -> str:
        model = TopEigenvector(
            **{"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0, "neighbours": "replace", "random_state": 1, **given}
        ).fit(rows)
        assert model.reason_ == model.release_.facts["reason"]
        return model.solver_

    assert chosen(ROWS) == "gaussian"
    assert chosen(ROWS, delta=0.0) == "exponential"
    assert chosen(ROWS[:10]) == "exponential"
    assert chosen(ROWS[:10], neighbours="add_remove") == "gaussian"  # the number of rows is private
    assert chosen(ROWS, solver="oja") == "oja"
    monkeypatch.setattr(spectral, "TUNED", replace(spectral.TUNED, moment_columns=4))
    assert chosen(ROWS) == "oja"


def test_wrong_requests_are_refused_before_anything_is_paid() -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(9))
    for given in (
        {}, {"row_norm": 1.0, "bounds": (0, 1)}, {"row_norm": -1.0}, {"bounds": (1, 0)}, {"bounds": (0, math.nan)},
        {"row_norm": 1.0, "epsilon": 0}, {"row_norm": 1.0, "delta": 1.0}, {"row_norm": 1.0, "solver": "lanczos"},
        {"row_norm": 1.0, "solver": "gaussian"}, {"row_norm": 1.0, "solver": "oja"},
        {"row_norm": 1.0, "neighbours": "both"}, {"row_norm": 1.0, "n_components": 6},
        {"row_norm": 1.0, "n_components": 0}, {"row_norm": 1.0, "centre": "median"},
    ):  # fmt: skip
        with pytest.raises(InvalidRequest):
            PCA(ledger=ledger, **given).fit(ROWS)
    assert ledger.spent.epsilon(0) == 0
    model = PCA(2, row_norm=1.0).fit(ROWS)
    with pytest.raises(InvalidRequest, match="columns"):
        model.inverse_transform(ROWS)
    with pytest.raises(InvalidRequest, match="expecting 5"):
        model.transform(ROWS[:, :2])


# -- scikit-learn's contract -------------------------------------------------------------------------

EXPECTED = {"check_dtype_object": "a table that is not of numbers is refused in our words"}
SKIPPED = {
    "check_pipeline_consistency", "check_array_api_input",  # fits draw noise; no array-API input
    "check_transformer_data_not_an_array", "check_transformer_general",  # as they say they do: see the test below
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [PCA(1, 20.0, 1e-5, row_norm=10.0, random_state=0), PCA(1, 20.0, row_norm=10.0, random_state=0),
     TopEigenvector(20.0, 1e-5, row_norm=10.0, random_state=0)],
    ids=["PCA", "pure PCA", "TopEigenvector"],
)  # fmt: skip
def test_scikit_learns_own_checks(model) -> None:
    check_habits(model, EXPECTED, SKIPPED)


@DELTAS
def test_fit_transform_is_fit_and_transform_with_one_draw(delta: float) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(50, 1e-3))
    model = PCA(2, 1.0, delta, row_norm=3.0, random_state=4)
    apart = clone(model).fit(ROWS).transform(ROWS)
    paid = clone(model).set_params(ledger=ledger)
    assert (paid.fit_transform(ROWS) == apart).all()
    assert ledger.spent.epsilon(delta) == pytest.approx(1.0)  # paid once
    secret = clone(model).set_params(random_state=None)
    assert (secret.fit_transform(ROWS) == secret.transform(ROWS)).all()
    assert (clone(secret).fit(ROWS).components_ != secret.components_).any()


def test_pipelines_names_and_frames_take_it() -> None:
    pandas = pytest.importorskip("pandas")
    labels = (ROWS[:, 0] > np.median(ROWS[:, 0])).astype(int)
    pipeline = make_pipeline(PCA(4, 10.0, 1e-6, row_norm=3.0, random_state=1), LogisticRegression())
    assert pipeline.fit(ROWS, labels).score(ROWS, labels) > 0.8
    table = pandas.DataFrame(ROWS, columns=list("abcde"))
    model = PCA(2, 1.0, 1e-6, row_norm=3.0, random_state=1).set_output(transform="pandas")
    assert model.fit_transform(table).columns.tolist() == ["pca0", "pca1"]
    assert model.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(model.fit(ROWS), "feature_names_in_")


def test_what_is_published_comes_back_from_text() -> None:
    for model in (PCA(2, row_norm=3.0, random_state=3), TopEigenvector(1.0, 1e-6, row_norm=3.0, random_state=3)):
        release = model.fit(ROWS).release_
        again = FitRelease.from_json(release.to_json())
        assert again.guarantee == model.guarantee_
        assert again.exactness == ("idealized" if isinstance(model, PCA) else "exact")
        assert again.facts["research_seed"] == 3
        for name, value in release.values.items():
            assert (again.values[name] == value).all()


def test_rows_have_room_where_noise_is_faint() -> None:
    """With rows pulled back to their spread, as classifiers take them, a quarter of iris' variance is lost."""
    rows = np.tile(load_iris().data, (20, 1))
    bounds, true = (rows.min(axis=0), rows.max(axis=0)), np.linalg.eigvalsh(np.cov(rows.T))[-1]
    model = PCA(1, 10, 1e-5, bounds=bounds, random_state=3).fit(rows)
    assert 0.95 < model.explained_variance_[0] / true < 1.05
    loud = PCA(1, 0.3, 1e-5, bounds=bounds, random_state=3).fit(rows)
    longest = np.linalg.norm(rows - rows.mean(axis=0), axis=1).max()
    assert loud.release_.facts["radius"] < longest < model.release_.facts["radius"]


def test_rows_have_no_more_room_than_directions_bear() -> None:
    """With ten times the room these components hold some 80 % of what the best ones hold."""
    draws = np.random.default_rng(4).normal(size=(5000, 20)) / np.sqrt(np.arange(1, 21))
    covariance = np.cov(draws.T)
    for epsilon, least in ((1.0, 0.96), (10.0, 0.985)):
        model = PCA(5, epsilon, 1e-6, bounds=(-5.0, 5.0), random_state=1).fit(draws)
        held = np.trace(model.components_ @ covariance @ model.components_.T)
        assert held > least * np.linalg.eigvalsh(covariance)[-5:].sum()


def test_variances_of_few_rows_are_possible_and_never_rise() -> None:
    """As they come at δ = 0 they are pure noise here, in no order, and far above what the bounds allow."""
    rows = np.random.default_rng(0).normal(size=(50, 3))
    for seed in range(5):
        model = PCA(3, 0.01, bounds=(-5.0, 5.0), random_state=seed).fit(rows)
        assert (np.diff(model.explained_variance_) <= 0).all()
        assert 0 <= model.explained_variance_.min() <= model.explained_variance_.max() <= 3 * 25 * 50 / 49


def test_variances_of_few_columns_are_not_cut_where_noise_is_faint() -> None:
    """Lengths of rows vary the more, the fewer the columns."""
    rows = np.random.default_rng(0).normal(size=(5000, 4)) * [2, 1, 1, 1]
    for seed in range(3):
        model = PCA(1, 1.0, 1e-6, bounds=(-10.0, 10.0), random_state=seed).fit(rows)
        assert 0.85 < model.explained_variance_[0] / 4 < 1.1


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_variances_are_no_more_than_bounds_allow_together(neighbours: str) -> None:
    """Few rows and loud noise: all variances together are at most the square of the radius, their shares at most 1."""
    rows = np.random.default_rng(4).uniform(-5, 5, (60, 8))
    for key in range(5):
        model = PCA(3, 0.1, 1e-5, bounds=(-5, 5), solver="gaussian", neighbours=neighbours, random_state=key).fit(rows)
        rows_said = max(model.n_rows_ - 1, 1)
        assert model.explained_variance_.sum() <= 8 * 25 * model.n_rows_ / rows_said * (1 + 1e-9)
        assert model.explained_variance_ratio_.sum() <= 1 + 1e-9
