"""K-norm noise of tables with margins: chosen by plans, verified at every ε, its stated error, audits and faults."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.audit.noise import noise_tests
from gaugedp.bodies.polytope import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.releases.deriving.summed import Summed, Sums
from gaugedp.releases.verification.check import verify
from gaugedp.samplers.lattice_rejection import LatticeRejection

DOMAIN = gd.Domain.of(A=["0", "1"], B=["x", "y", "z"], C=["1", "2", "3", "4"])
UNIT = gd.PrivacyUnit()
QUERY = gd.query(DOMAIN, "A*B; A*C")


@cache
def flat(epsilon: float, unit: gd.PrivacyUnit = UNIT) -> gd.KNorm:
    return gd.KNorm.calibrate(QUERY.sensitivity(unit), gd.PureDP(epsilon), walk=False)


def test_the_plan_offers_it_where_it_wins() -> None:
    plan = gd.plan(QUERY, UNIT, epsilon=1.0)
    mechanism = plan.mechanism
    assert (mechanism.name, mechanism.exactness, mechanism.guarantee) == ("KNorm", "exact", gd.PureDP(1.0))
    assert mechanism.error() < 0.9 * gd.Identity.calibrate(mechanism.body, gd.PureDP(1.0)).error()
    assert "by rejection" in mechanism.describe()


@pytest.mark.parametrize("unit", [UNIT, gd.PrivacyUnit("pid", max_rows=3)], ids=["rows", "persons"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1.1, 1.3, 3.0])
def test_the_check_before_a_charge(epsilon: float, unit: gd.PrivacyUnit) -> None:
    """Accepted at every ε, and refused if the noise is a tenth too small."""
    mechanism = flat(epsilon, unit)
    assert verify(QUERY, mechanism, unit).verified == "exact"
    small = replace(mechanism, epsilon=float(f"{epsilon / 0.9:.12g}"))
    with pytest.raises(InvalidRequest, match="violates"):
        verify(QUERY, small, unit)


@pytest.mark.parametrize("n_forgotten", [1, 6])
def test_the_check_refuses_noise_of_fewer_generators(n_forgotten: int) -> None:
    columns = QUERY.sensitivity(UNIT).columns()[:, :-n_forgotten]
    other = replace(flat(1.0), noise=LatticeRejection(Polytope.symmetric_hull(columns)))
    with pytest.raises(InvalidRequest, match="violates"):
        verify(QUERY, other, UNIT)


def test_zcdp_and_replaced_rows_are_verified() -> None:
    replaced = gd.PrivacyUnit(neighbours="replace")
    assert verify(QUERY, flat(1.1, replaced), replaced).verified == "exact"
    plan = gd.plan(QUERY, UNIT, rho=0.5)
    knorm = next(iter(gd.KNorm.candidates(QUERY.sensitivity(UNIT), gd.ZCDP(0.5))))
    assert verify(QUERY, knorm, UNIT).verified == "exact"
    assert plan.mechanism.guarantee.cost("zcdp") is not None


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 3.0])
def test_the_stated_error_is_that_of_draws(epsilon: float) -> None:
    """1,000 draws: the mean length within five standard errors and two percent."""
    mechanism = flat(epsilon)
    lengths = np.linalg.norm(mechanism.draw(1000, gd.research_rng(1)), axis=1)
    assert abs(lengths.mean() - mechanism.error()) < 5 * lengths.std() / 1000**0.5 + 0.02 * lengths.mean()
    widths = mechanism.half_widths(0.95)
    assert (np.abs(mechanism.draw(400, gd.research_rng(2))) <= widths).mean() > 0.94


def test_the_stated_error_falls_to_that_of_single_generators() -> None:
    """At large ε the noise is 0 or ±a generator: E‖Z‖ = 2Σ‖v_j‖·e^{−ε} within 15 %; it is positive at any ε."""
    lengths = np.linalg.norm(QUERY.sensitivity(UNIT).columns(), axis=0)
    for epsilon in (12.0, 30.0, 100.0):
        leading = 2 * lengths.sum() * np.exp(-epsilon)
        assert flat(epsilon).error() == pytest.approx(leading, rel=0.15)
    assert flat(1000.0).error() > 0
    assert (flat(1000.0).draw(3, gd.research_rng(3)) == 0).all()


def test_release_leaves_the_span_of_the_answers() -> None:
    """Draws are sums of generators: their tables of A agree, and all are integers."""
    draws = flat(1.0).releasable(20, gd.research_rng(4))
    first, second = draws[:, :6].reshape(20, 2, 3), draws[:, 6:].reshape(20, 2, 4)
    assert draws.dtype == np.int64
    assert np.array_equal(first.sum(axis=2), second.sum(axis=2))
    assert len({row.tobytes() for row in draws}) == 20


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_audits_do_not_alarm(epsilon: float) -> None:
    """All p-values above 1e−4; noise that is a tenth too small alarms at ε = 1."""
    mechanism = flat(epsilon)
    found = noise_tests(mechanism, mechanism.draw(600, gd.research_rng(5)), gd.research_rng(6))
    assert min(found.values()) > 1e-4
    if epsilon == 1.0:
        small = replace(mechanism, epsilon=1.12)
        assert min(noise_tests(small, small.draw(600, gd.research_rng(5)), gd.research_rng(6)).values()) < 1e-4


def test_descriptions_take_no_exact_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = flat(1.0)
    monkeypatch.setattr(type(mechanism.noise), "on_lattice", None)
    trials = mechanism.trial_noise(40_000, 7)
    assert trials.shape == (40_000, mechanism.body.ambient_dim)
    assert np.linalg.norm(trials, axis=1).mean() == pytest.approx(mechanism.error(), rel=0.03)


def test_derived_statistics_take_no_exact_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release is charged and drawn once; what follows from it is described by public trial draws."""
    rows = pd.DataFrame({"A": ["0", "1"] * 30, "B": ["x", "y", "z"] * 20, "C": ["1", "2", "3", "4"] * 15})
    table, ledger = gd.Table.scan(rows, domain=DOMAIN), gd.Ledger.in_memory(gd.PureDP(2))
    released = gd.release(QUERY, table, ledger=ledger, epsilon=1.0, rng=gd.research_rng(1))
    monkeypatch.setattr(LatticeRejection, "on_lattice", None)
    assert len(gd.derive(released, "A; B; C").numbers) == 9
    low, high = gd.derive(released, "index(A)").interval()
    assert (low < high).all()


@pytest.mark.statistical
def test_intervals_of_sums_hold() -> None:
    """Sums over cells of three, 800 draws: covered at least as often as stated, less five standard errors."""
    mechanism = flat(1.0)
    sums = Summed(mechanism, (Sums(0, (2, 3), (1,)),), gd.query(DOMAIN, "B").sensitivity(UNIT))
    sizes = np.abs(sums.draw(800, gd.research_rng(8)))
    for level in (0.5, 0.95):
        error = 5 * (level * (1 - level) / 800) ** 0.5
        assert (sizes <= sums.half_widths(level)).mean(axis=0).min() >= level - error
        assert (sizes <= 0.8 * sums.half_widths(level)).mean(axis=0).max() < level
    assert len({row.tobytes() for row in mechanism.trial_noise(64, 3)}) > 60, "a trial draw is used once"


def test_what_it_refuses() -> None:
    with pytest.raises(InvalidRequest, match="64-bit"):
        flat(1.0).recalibrated(gd.PureDP(1e-10))
    wide = gd.Domain.of(**{name: ["1", "2", "3"] for name in "ABC"})
    body = gd.query(wide, "A*B; A*C; B*C").sensitivity(UNIT)
    found = []
    for _ in range(4):
        with pytest.raises(InvalidRequest, match="trials") as refusal:
            gd.KNorm.calibrate(body, gd.PureDP(1.0), walk=False)
        found.append((str(refusal.value), len(refusal.traceback)))
    assert len(set(found[1:])) == 1, "a refusal that is remembered is another exception"
    assert gd.plan(gd.query(wide, "A*B; A*C; B*C"), UNIT, epsilon=1.0).mechanism.name != "KNorm"
