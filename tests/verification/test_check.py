"""Before every charge, noise is checked against its guarantee from the definitions alone."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP, compose
from gaugedp.mechanisms import Cube, Gaussian, Identity, KNorm, Laplace, Matrix, Mechanism, Staircase
from gaugedp.mechanisms.product_mechanism import ProductMechanism
from gaugedp.queries.base import Query
from gaugedp.releases.verification.check import verify
from gaugedp.releases.verification.single_row import SingleRow
from gaugedp.samplers.laws import DiscreteLaplace
from tests.golden.tables import DOMAIN, PURE, WIDE, ledger, released

TRIED = gd.Domain.of(
    A=["w", "x", "y"],
    AGE=gd.bins(0, 60, 10),
    G=gd.integers(0, 4),
    town=gd.tree({"region": ["N", "N", "S", "S"], "town": ["a", "b", "c", "d"]}),
    X=gd.bounded(0, 100),
    Y=gd.bounded(-20, 60, 0.5),
    V=gd.bounded(5, 20),
)
CELLS, WEIGHTS = gd.Domain.of(G=gd.integers(0, 4)), np.array([[1, 0, 2, 0, 3], [0, 1, 1, 4, 0]])
UNITS = [
    gd.PrivacyUnit(),
    gd.PrivacyUnit(neighbours="replace"),
    gd.PrivacyUnit("pid", max_rows=3),
    gd.PrivacyUnit("pid", neighbours="replace", max_rows=3),
]
TEXTS = [
    "A*G", "A; G; AGE", "prefix(AGE)", "ranges(AGE)", "prefix(AGE)*A", "prefix(AGE)*ranges(G)", "region; town",
    "sum(X)", "sum(X); sum(V)", "mean(V)", "sd(X)", "sum(Y) by A; A", "count",
]  # fmt: skip
KINDS = [Laplace, Gaussian, Identity, Matrix, Cube, Staircase, KNorm]
GUARANTEES = [PureDP(1.0), gd.ZCDP(0.1), gd.GaussianDP(0.5), gd.ApproxDP(0.3, 1e-7)]
EXACT = ["Laplace", "Gaussian", "Identity", "Cube", "KNorm", "Staircase"]


@dataclass(frozen=True)
class Noise:
    """A mechanism that a plan weighs, and what it is for."""

    query: Query
    unit: gd.PrivacyUnit
    mechanism: Mechanism

    def verdict(self, less: float = 1.0) -> str:
        """Return how far it is verified where it states `less` times its guarantee, or "refused"."""
        mechanism = self.mechanism if less == 1.0 else self._overstated(less)
        try:
            return verify(self.query, mechanism, self.unit).verified
        except InvalidRequest:
            return "refused"

    def _overstated(self, less: float) -> Mechanism:
        kind, numbers = type(self.mechanism.guarantee), vars(self.mechanism.guarantee)
        return replace(self.mechanism, guarantee=kind(**{name: number * less for name, number in numbers.items()}))


@cache
def noises() -> list[Noise]:
    """Return what a plan would weigh for all texts and units; all kinds of guarantee take turns."""
    found = []
    queries = [*(gd.query(TRIED, text) for text in TEXTS), gd.workload(WEIGHTS, CELLS)]
    for n, (query, unit, kind) in enumerate(product(queries, UNITS, KINDS)):
        guarantees = (
            GUARANTEES if kind is Gaussian else [PureDP(1.0), GUARANTEES[n % 4]] if kind is Matrix else GUARANTEES[:1]
        )
        for guarantee in guarantees:
            offers = kind.candidates(query.sensitivity(unit), guarantee, query.errors.weights)
            found += [Noise(query, unit, mechanism) for mechanism in offers]
    return found


def stacks() -> list[Noise]:
    """Return noise of queries in several parts, or of one sum whose bounds have two signs."""
    plans = [gd.plan(gd.query(TRIED, text), UNITS[0], epsilon=1.0) for text in ("sum(Y)", "median(X); A")]
    return [Noise(plan.query, plan.unit, plan.mechanism) for plan in plans]


def test_noise_that_is_calibrated_is_checked_and_not_refused() -> None:
    verdicts = Counter((noise.mechanism.name, noise.verdict()) for noise in (*stacks(), *noises()))
    assert all(verdicts[name, "exact"] > 0 for name in EXACT)
    assert verdicts["Matrix", "sampled"] > 3 * verdicts["Matrix", "none"]
    assert not any(verdict == "refused" for _, verdict in verdicts)


@pytest.mark.parametrize("name", [*EXACT, "Matrix"])
def test_noise_too_narrow_is_refused(name: str) -> None:
    """The control: with half of its guarantee all is refused, with 98 % most; a radius may be a bound, and larger."""
    checked = [noise for noise in noises() if noise.mechanism.name == name and noise.verdict() != "none"]
    assert {noise.verdict(0.45) for noise in checked} == {"refused"}
    nearly = [noise.verdict(0.98) for noise in checked]
    assert nearly.count("refused") > 0.75 * len(nearly)


@pytest.mark.parametrize("times", [0.99, 0.9, 0.6, 0.4])
@pytest.mark.parametrize("text", ["A; prefix(AGE)", "prefix(AGE); ranges(G)"])
def test_a_noise_matrix_that_misses_its_stated_preimages_is_refused(text: str, times: float) -> None:
    """L·u is `times` the row of which u is stated: noise of that share costs 1/times of the guarantee."""
    query = gd.query(TRIED, text)
    mechanism = Matrix.calibrate(query.sensitivity(UNITS[0]), PureDP(1.0))
    strategy = replace(mechanism.strategy, matrix=mechanism.strategy.matrix * times)
    assert Noise(query, UNITS[0], mechanism).verdict() == "sampled"
    assert Noise(query, UNITS[0], replace(mechanism, strategy=strategy)).verdict() == "refused"


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_tables_beside_prefix_sums_are_checked_for_every_unit(unit: gd.PrivacyUnit) -> None:
    query = gd.query(TRIED, "A; prefix(AGE)")
    assert Noise(query, unit, Matrix.calibrate(query.sensitivity(unit), PureDP(1.0))).verdict() == "sampled"


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_noise_on_a_count_costs_the_whole_guarantee(guarantee: Guarantee) -> None:
    query, kind = gd.query(TRIED, "count"), Laplace if guarantee == PureDP(1.0) else Gaussian
    noise = Noise(query, UNITS[0], kind.calibrate(query.sensitivity(UNITS[0]), guarantee))
    assert noise.verdict() == "exact"
    assert noise.verdict(1 - 1e-6) == "refused"


@pytest.mark.parametrize("name", ["Laplace", "Gaussian", "Identity", "Cube", "Matrix"])
@pytest.mark.parametrize("larger", UNITS[1:])
def test_noise_for_a_smaller_unit_is_refused(name: str, larger: gd.PrivacyUnit) -> None:
    row = [noise for noise in noises() if noise.unit == UNITS[0] and noise.mechanism.name == name]
    checked = [replace(noise, unit=larger) for noise in row if noise.verdict() != "none"]
    assert "refused" in {noise.verdict() for noise in checked}


def test_a_release_says_what_was_verified_and_stores_it() -> None:
    account = ledger(PURE)
    answer = released("A*B", PURE, account)
    assert answer.facts["verified"] == "exact"
    assert gd.Release.from_json(account.stored("golden").decode()).facts["verified"] == "exact"
    drawn = released("median(X)", PURE, ledger(PURE))
    assert (drawn.facts["verified"], drawn.facts["verified_reason"]) == ("sampled", "6 of the possible rows were tried")


def test_noise_too_narrow_is_not_charged_and_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "rate", property(lambda law: 1 / (law.scale * 9 / 10)))
    account = ledger(PURE)
    monkeypatch.setattr(gd.Table, "totals", lambda *_: pytest.fail("rows were read"))
    with pytest.raises(InvalidRequest, match="Nothing was read and nothing was spent"):
        released("A*B", PURE, account)
    assert [entry.kind for entry in account.entries()] == ["open"]


def test_parts_of_a_release_may_not_state_less_than_they_have_together(monkeypatch: pytest.MonkeyPatch) -> None:
    query = gd.query(DOMAIN, "median(X); A*B")
    mechanism = gd.plan(query, gd.PrivacyUnit(), epsilon=1.0).mechanism
    verify(query, mechanism, gd.PrivacyUnit())
    monkeypatch.setattr(ProductMechanism, "guarantee", property(lambda whole: whole.parts[0].guarantee))
    with pytest.raises(InvalidRequest, match="less than the total of its parts"):
        verify(query, mechanism, gd.PrivacyUnit())


def test_all_but_the_largest_queries_are_tried_whole() -> None:
    verdicts = {}
    for text in ("A*B", "G*C", "G*C*A"):
        query = gd.query(WIDE, text)
        noise = Laplace.calibrate(query.sensitivity(gd.PrivacyUnit()), PureDP(1.0))
        verdicts[text] = verify(query, noise, gd.PrivacyUnit())
    assert verdicts["A*B"].verified == "exact"
    assert verdicts["G*C"].verified == verdicts["G*C*A"].verified == "sampled"
    assert "rows were tried" in verdicts["G*C"].reason


@pytest.mark.parametrize("unit", UNITS[:2])
def test_a_wide_questionnaire_is_checked_by_few_rows_with_both_ends(unit: gd.PrivacyUnit, monkeypatch) -> None:
    """A hundred columns took seconds: each row has a total of each."""
    columns = {f"X{number}": gd.bounded(0, 10 + number) for number in range(100)}
    query = gd.query(gd.Domain.of(**columns), "; ".join(f"mean({name})" for name in columns))
    evaluated, total = [], SingleRow._total
    monkeypatch.setattr(
        SingleRow, "_total", lambda row, requested: evaluated.append(requested) or total(row, requested)
    )
    noise = Noise(query, unit, Laplace.calibrate(query.sensitivity(unit), PureDP(1.0)))
    assert noise.verdict() == "sampled"
    assert len(evaluated) <= 1200
    assert noise.verdict(0.98) == "refused"


def test_noise_on_more_cells_than_answers_is_checked_by_fewer_rows() -> None:
    matrix = np.random.default_rng(4).integers(0, 3, (3, 1900))
    query, unit = gd.workload(matrix, gd.Domain.of(A=gd.integers(0, 1899))), UNITS[1]
    noise = Identity.calibrate(query.sensitivity(unit), PureDP(1.0))
    assert verify(query, noise, unit).reason == "22 of the possible rows were tried"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("guarantee", [PureDP(1.0), gd.ZCDP(0.1), gd.ApproxDP(0.3, 1e-7)], ids=repr)
def test_weights_that_take_large_integers_are_checked(unit: gd.PrivacyUnit, guarantee: Guarantee) -> None:
    """Python's integers have no `rint`: a release of such a workload was blocked by an error of numpy."""
    query = gd.workload(np.array([[2**21 + 1, 1, 0, 3, 0], [0, 2, 1, 0, 2**21 - 5]]), CELLS)
    for kind in (Identity, Matrix, Laplace, Gaussian, KNorm):
        for mechanism in kind.candidates(query.sensitivity(unit), guarantee, query.errors.weights):
            assert Noise(query, unit, mechanism).verdict() in ("exact", "sampled", "none")
    identity = Identity.calibrate(query.sensitivity(unit), PureDP(1.0))
    assert Noise(query, unit, identity).verdict() == "exact"
    assert Noise(query, unit, identity).verdict(0.45) == "refused"


@pytest.mark.parametrize("rows", [40_000, 2**31])
def test_a_person_with_very_many_rows_is_not_checked_modulo_a_machine_number(rows: int) -> None:
    unit = gd.PrivacyUnit("pid", neighbours="replace", max_rows=rows)
    query = gd.query(gd.Domain.of(X=gd.bounded(0, 2**24 - 1)), "sd(X)")
    noise = Noise(query, unit, Laplace.calibrate(query.sensitivity(unit), PureDP(1e12)))
    assert noise.verdict() == "sampled"
    assert noise.verdict(0.45) == "refused"


def test_more_rows_than_a_machine_number_holds_are_checked() -> None:
    unit = gd.PrivacyUnit("pid", max_rows=2**63)
    noise = Laplace.calibrate(gd.query(TRIED, "count").sensitivity(unit), PureDP(1e9))
    assert Noise(gd.query(TRIED, "count"), unit, noise).verdict() == "exact"


def test_a_guarantee_of_another_kind_is_not_taken_for_one_of_the_noise() -> None:
    query = gd.query(DOMAIN, "A")
    noise = gd.plan(query, gd.PrivacyUnit(), rho=0.1).mechanism
    other = replace(noise, guarantee=PureDP(1e-9))
    assert verify(query, other, gd.PrivacyUnit()).verified == "none"
    both = replace(noise, guarantee=compose([(PureDP(1.0), 1), (gd.ZCDP(1.0), 1)]))
    assert verify(query, both, gd.PrivacyUnit()).verified == "none"
