"""An adaptive release: what it costs, what one person can change, what it chooses, and what its intervals hold."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp._internal.validate import decimal
from gaugedp.audit import audit
from gaugedp.bodies import LpBall
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import ExponentialLoss
from gaugedp.mechanisms import Exponential, Gaussian
from gaugedp.releases.releasing import ExactAnswers, PredictedCounts
from gaugedp.synthesis import adaptive_measurement as rounds_module
from gaugedp.synthesis.adaptive import AdaptivePlan
from gaugedp.synthesis.adaptive_measurement import NoisyMarginal, candidates_of, most_moved
from tests.estimators.replay import both, leaves, shares_moved, too_far
from tests.synthesis.kit import DELTA, DOMAIN, Counted, paid, people

THREES = "; ".join("*".join(names) for names in itertools.combinations("ABCD", 3))
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
MANY = gd.PrivacyUnit(column="P", max_rows=2)
HUGE = gd.ZCDP(1e9)


def released(table: Counted, text: str = THREES, seed: int = 5, rho: float = 0.1, **more: object) -> gd.Release:
    ledger = more.pop("ledger", None) or gd.Ledger.in_memory(HUGE)
    return gd.release_adaptively(
        gd.query(DOMAIN, text), table, ledger=ledger, rho=rho, rng=gd.research_rng(seed), **more
    )


def measured(cells: np.ndarray, rho: float, text: str = THREES, seed: int = 1) -> list[NoisyMarginal]:
    planned = AdaptivePlan.of(gd.query(DOMAIN, text), ROW, gd.ZCDP(rho))
    rng = gd.research_rng(seed)
    return planned.measured(paid(Counted(cells)), rng)


@pytest.fixture(scope="module")
def release() -> gd.Release:
    return gd.Release.from_json(released(Counted(people())).to_json())


@pytest.mark.parametrize(("n", "rho"), [(0, 0.1), (50, 1e-3), (3000, 0.02), (3000, 50.0)])
def test_all_rounds_together_cost_what_was_paid(monkeypatch: pytest.MonkeyPatch, n: int, rho: float) -> None:
    """In exact decimals, whatever was chosen and however fast the price of a round grew; and little stays unused."""
    paid = list[Fraction]()
    for kind in (Exponential, Gaussian):
        calibrate = kind.calibrate.__func__

        def recorded(cls, body, guarantee, *others, make=calibrate):
            paid.append(decimal(guarantee.rho))
            return make(cls, body, guarantee, *others)

        monkeypatch.setattr(kind, "calibrate", classmethod(recorded))
    parts = measured(people(n), rho)
    assert 0.94 * decimal(rho) < sum(paid) <= decimal(rho)
    assert sum(part.share for part in parts) <= 1
    assert len(paid) == 2 * len(parts) - 4, "a choice and a table a round, and four tables without a choice"


@pytest.mark.parametrize("text", ["A", "A; B; D"])
def test_tables_of_one_attribute_alone_take_the_whole_price(text: str) -> None:
    parts = measured(people(50), 0.1, text)
    assert sum(table.share for table in parts) == 1
    together = sum(decimal(table.mechanism.guarantee.rho) for table in parts)
    assert 0.999 * decimal(0.1) < together <= decimal(0.1)


def scores(rows: np.ndarray, unit: gd.PrivacyUnit, guesses: list[PredictedCounts]) -> np.ndarray:
    everything, _ = candidates_of(gd.query(DOMAIN, "A*B*C; B*D"), unit)
    held = ExactAnswers(everything, paid(Counted(rows, unit)), gd.research_rng(1))
    return np.array([held._off(guess) for guess in guesses])


@pytest.mark.parametrize(("unit", "n_moved"), [(ROW, 1), (REPLACED, 1), (MANY, 2)])
def test_no_unit_moves_a_score_by_more_than_is_said(unit: gd.PrivacyUnit, n_moved: int) -> None:
    """By brute force over the rows of one unit, added or put in place of others; the bound is attained."""
    _, candidates = candidates_of(gd.query(DOMAIN, "A*B*C; B*D"), unit)
    random = np.random.default_rng(3)
    guesses = [one.guess(random.uniform(0, 6, one.shape), 0.5) for one in candidates]
    far = [one.guess(np.full(one.shape, 9.0) * (np.arange(one.size).reshape(one.shape) > 0), 0.5) for one in candidates]
    every = np.array(list(itertools.product(*map(range, DOMAIN.shape(tuple("ABCD"))))))
    sets = every[random.choice(len(every), 12, replace=False)]
    own = [np.array(part) for part in itertools.combinations_with_replacement([*every[:1], *sets], n_moved)]
    rest = people(7)
    for held in (guesses, far):
        base = scores(rest, unit, held)
        results = [scores(np.vstack([rest, part]), unit, held) for part in own]
        moves = [results] if unit.neighbours == "replace" else [[base]]
        largest = max(np.abs(one - other).max() for one in results for other in moves[0])
        assert largest <= most_moved(candidates)
    assert largest == most_moved(candidates) or unit is REPLACED


def test_weights_say_how_much_of_what_is_asked_a_table_shares() -> None:
    everything, candidates = candidates_of(gd.query(DOMAIN, "A*B*C; B*D; D*B"), ROW)
    weights = {"*".join(candidate.names): candidate.weight for candidate in candidates}
    assert weights == {
        "A": 1, "B": 3, "C": 1, "D": 2, "A*B": 4, "A*C": 2, "B*C": 4, "B*D": 5, "A*B*C": 5,
    }  # fmt: skip
    assert everything.text == "; ".join(weights)
    assert [candidate.place.stop - candidate.place.start for candidate in candidates] == [
        candidate.size for candidate in candidates
    ]


def test_the_choice_keeps_its_guarantee_and_one_for_scores_that_move_less_does_not() -> None:
    """The black-box audit of 4,000 choices at ε = 3, between tables that one row tells apart; the control alarms."""
    everything, candidates = candidates_of(gd.query(DOMAIN, "A*B; C"), ROW)
    held = [ExactAnswers(everything, paid(Counted(np.zeros((n, 4), dtype=int))), gd.research_rng(1)) for n in (6, 7)]
    near, far = ([np.eye(1, one.size).reshape(one.shape) * n for one in candidates] for n in (6, 7))
    guesses = [one.guess(part, 1e9) for one, part in zip(candidates, [*near[:-1], far[-1]], strict=True)]
    body, rng = LpBall(len(candidates), np.inf, most_moved(candidates)), gd.research_rng(2)

    def alarms(epsilon: float) -> bool:
        mechanism = Exponential.calibrate(body, ExponentialLoss(epsilon))

        def choose(place: np.ndarray) -> np.ndarray:
            return np.array([float(held[int(place[0])].worst(guesses, mechanism.prepare(rng)))])

        return audit(choose, np.array([0]), np.array([1]), ExponentialLoss(3.0), runs=4000).violated

    assert not alarms(3.0)
    assert alarms(9.0)


def test_what_is_far_from_the_model_is_measured_and_nothing_twice() -> None:
    names = ["*".join(one.candidate.names) for one in measured(people(), 0.1, "A*B; A*C; B*C; C*D; B*D")]
    assert names[:4] == ["A", "B", "C", "D"]
    assert names[4] == "A*B"
    assert set(names[5:7]) == {"B*D", "C*D"}
    assert len(set(names)) == len(names)


def test_a_table_that_tells_less_than_its_noise_halves_the_noise() -> None:
    """Independent attributes, little budget: the deviations go down, and never up."""
    random = np.random.default_rng(4)
    cells = np.stack([random.integers(0, size, 2000) for size in (3, 2, 2, 4)], axis=1)
    deviations = [one.mechanism.variances[0] ** 0.5 for one in measured(cells, 0.01)]
    assert all(one >= other * (1 - 1e-9) for one, other in itertools.pairwise(deviations))
    assert deviations[-1] < 0.6 * deviations[0]


def test_a_model_that_would_be_too_large_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds_module, "MOST_CELLS", 17)
    sizes = [one.candidate.size for one in measured(people(), 1.0)]
    assert max(sizes) <= 12


def test_the_release_says_what_it_keeps(release: gd.Release) -> None:
    assert (release.guarantee, release.exactness) == (gd.ZCDP(0.1), "exact")
    assert release.facts["mechanism"]["name"] == "AdaptiveGaussian"
    assert THREES in release.facts["mechanism"]["noise"]
    assert release.facts["account"]["charged"] == "ZCDP(0.1)"
    terms = [text for text, _ in release.labels.terms]
    assert terms[:4] == ["A", "B", "C", "D"]
    assert release.facts["digest"] == gd.query(DOMAIN, "; ".join(terms)).digest()


def test_rows_of_the_release_answer_the_question_nearly(release: gd.Release) -> None:
    frame = gd.synthesize(release, rng=gd.research_rng(1))
    made = np.stack([frame[name].astype(int) for name in "ABCD"], axis=1)
    truth, counts = (Counted(rows)._counts(tuple("ABCD")) for rows in (people(), made))
    assert abs(len(made) - 3000) < 30
    assert np.abs(truth - counts).sum() < 0.2 * 3000, "independent attributes would be off by 0.9"


@pytest.mark.slow
def test_all_is_paid_before_the_one_look_and_a_key_is_not_paid_twice() -> None:
    ledger, looks = gd.Ledger.in_memory(gd.ApproxDP(1.0, DELTA)), list[str]()
    table = Counted(people(), seen=lambda: looks.append(repr(ledger.spent)))
    question = gd.query(DOMAIN, THREES)
    first, again = (
        gd.release_adaptively(question, table, ledger=ledger, epsilon=1.0, delta=DELTA, key="k") for _ in range(2)
    )
    assert looks == [f"ApproxDP(1, {DELTA:g})"]
    assert first.to_json() == again.to_json()
    assert first.guarantee.epsilon(DELTA) <= 1
    assert len([entry for entry in ledger.entries() if entry.guarantee is not None]) == 1
    with pytest.raises(LedgerRefused):
        gd.release_adaptively(question, table, ledger=ledger, epsilon=1.0, delta=DELTA, key="other")
    assert len(looks) == 1


def test_what_cannot_be_chosen_from_is_refused_and_nothing_read() -> None:
    def never() -> None:
        raise AssertionError("looked")

    table, ledger = Counted(people(9), seen=never), gd.Ledger.in_memory(HUGE)
    other = gd.Domain.of(A=["0", "1"])
    pairs, important = gd.query(DOMAIN, "A*B"), gd.marginals(DOMAIN, "A").with_importance({"A": 2})
    for question, price, words in [
        (gd.query(DOMAIN, "A; prefix(D)"), {"rho": 1.0}, "prefix(D) is not a table of counts"),
        (gd.count(DOMAIN), {"rho": 1.0}, "no attributes"),
        (important, {"rho": 1.0}, "importance"),
        (pairs, {"epsilon": 1.0}, "Pass delta as well as epsilon"),
        (pairs, {}, "No guarantee is given"),
        (gd.query(other, "A"), {"rho": 1.0}, "different domains"),
        ("A*B", {"rho": 1.0}, "`query` is of type str"),
    ]:
        with pytest.raises(InvalidRequest) as refused:
            gd.release_adaptively(question, table, ledger=ledger, **price)
        assert words in str(refused.value)
    assert ledger.spent == gd.ZCDP(0)


def test_levels_of_a_tree_are_chosen_among_too() -> None:
    areas = gd.tree({"REGION": list("nnss"), "AREA": list("1234")})
    domain = gd.Domain.of(AREA=areas, SEX=["m", "f"])
    random = np.random.default_rng(2)
    area = random.integers(1, 5, 2000)
    frame = pd.DataFrame({"AREA": area.astype(str), "SEX": np.where(area > 2, "m", "f")})
    table, ledger = gd.Table.scan(frame, domain=domain, name="people"), gd.Ledger.in_memory(HUGE)
    answer = gd.release_adaptively(gd.query(domain, "SEX*REGION; AREA"), table, ledger=ledger, rho=1.0)
    assert [text for text, _ in answer.labels.terms] == ["SEX", "REGION", "AREA", "SEX*REGION"]
    rows = gd.synthesize(answer)
    assert (rows["SEX"] == np.where(rows["REGION"] == "s", "m", "f")).mean() > 0.98


def test_counts_have_the_noise_that_is_said() -> None:
    """Chi-square of all counts of a release at 1e-6; the control says half the deviation."""
    cells = people(400)
    parts = measured(cells, 0.001)
    off = [one.counts - Counted(cells)._counts(one.candidate.names) for one in parts]
    for scale, fits in ((1.0, True), (0.25, False)):
        squares = sum(
            float((part**2 / (scale * one.mechanism.variances)).sum()) for part, one in zip(off, parts, strict=True)
        )
        law = stats.chi2(sum(map(len, off)))
        assert bool(2 * min(law.cdf(squares), law.sf(squares)) > 1e-6) is fits


def test_exact_answers_are_not_shown_or_copied() -> None:
    held = ExactAnswers(gd.query(DOMAIN, "A"), paid(Counted(people(9))), gd.research_rng(1))
    assert repr(held) == "ExactAnswers(3 answers)"
    with pytest.raises(TypeError):
        pickle.dumps(held)


def test_widths_that_hold_at_once_share_the_misses_as_the_price() -> None:
    """The misses of all tables are at most those allowed, whatever is chosen: a table has its share."""
    planned = AdaptivePlan.of(gd.query(DOMAIN, "A*B; C*D"), ROW, gd.ZCDP(0.1))
    rng = gd.research_rng(3)
    table = Counted(people())
    parts = planned.measured(paid(table), rng)
    answer = planned.answer(parts, table, {}, 3)
    widths = (np.subtract(*answer.interval(0.95, simultaneous=True)[::-1])) / 2
    start = 0
    for part in parts:
        misses = 0.6 * 0.05 * float(part.share)
        assert widths[start] == part.mechanism.half_widths(1 - misses, True)[0]
        start += part.candidate.size
    assert sum(part.share for part in parts) <= 1


@pytest.mark.thorough
def test_intervals_hold_as_often_as_they_say_whatever_is_chosen() -> None:
    """60 releases; the rate of 0.95 within five deviations, counted by release. The control has 0.8 of the noise."""
    cells, rates, short = people(500), list[float](), list[float]()
    for seed in range(60):
        answer = released(Counted(cells), "A*B; B*D; C*D", seed, 0.02)
        truth = np.concatenate([Counted(cells)._counts(tuple(text.split("*"))) for text, _ in answer.labels.terms])
        (low, high), values = answer.interval(0.95), answer.raw
        off = np.abs(truth - values)
        rates.append(float((off <= (high - low) / 2).mean()))
        short.append(float((off <= 0.8 * (high - low) / 2).mean()))
    deviation = np.std(rates) / np.sqrt(len(rates))
    assert 0.95 - 5 * deviation < np.mean(rates) < 0.97
    assert np.mean(short) < 0.95 - 5 * deviation


UNITS = {"row": ROW, "replaced row": REPLACED, "person of two rows": MANY}


@pytest.mark.parametrize("name", UNITS)
def test_neighbours_are_told_apart_by_rounds_that_cost_what_was_paid(name: str) -> None:
    """Played again on a neighbouring table: no round sees more than its noise hides, and all cost ρ together."""
    unit, cells = UNITS[name], people(400)
    other = {"row": cells[1:], "replaced row": np.vstack([[2, 0, 1, 3], cells[1:]]), "person of two rows": cells[2:]}

    def run(table: np.ndarray) -> list[NoisyMarginal]:
        planned = AdaptivePlan.of(gd.query(DOMAIN, THREES), unit, gd.ZCDP(0.5))
        gd.Ledger.in_memory(HUGE).reserve([gd.ZCDP(0.5)], table="people", unit=unit, request={})
        return planned.measured(paid(Counted(table, unit)), gd.research_rng(1))

    (seen, first), (beside, second) = both(run, (cells, other[name]))
    assert not too_far(first, second)
    assert dict(leaves([table.counts for table in seen])) == dict(leaves([table.counts for table in beside]))
    moved = [shift for shift in shares_moved(first, second) if shift > 0]
    assert max(moved) > 0.99, "a neighbour moves some table by all that is hidden"
    costs = [entry.mechanism.guarantee.cost("zcdp") for entry in first.entries]
    assert sum(rho for (rho,) in costs) <= decimal(0.5)


def test_a_seeded_release_says_so(release: gd.Release) -> None:
    assert release.facts["research_seed"] == 5
