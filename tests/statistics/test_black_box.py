"""Black-box audits of releases: two neighbouring tables, a guess for each output, and an exact binomial bound.

A claimed ε = 1 against noise 10 % too small (ε = 1.1): for a false alarm of 1e-6 about 32,000 guesses reach a power of
0.999 when every output decides a guess, as here: neighbours' counts differ by 1 and the best event is a half line.
Two audits of kit.QUARTER / 2 each; the keys are fixed.
"""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.tables.aggregate import Rows
from tests.queries.stub import StubTable
from tests.statistics import kit

pytestmark = pytest.mark.statistical

ALARM = kit.QUARTER / 2
EPSILON = 1.0
N_RUNS = 20_000  # on each side
BUDGET = gd.PureDP(1e6)
SMALL = gd.Domain.of(a=gd.integers(1, 3))


def released(table, key: int, **guarantee) -> np.ndarray:
    query = gd.marginals(table.domain, "a")
    ledger = gd.Ledger.in_memory(BUDGET)
    return gd.release(query, table, ledger=ledger, rng=gd.research_rng(key), **guarantee).values.astype(float)


# -- one cell, many runs -----------------------------------------------------------------------------


def prepared_runs(mechanism, answer: np.ndarray, first_key: int) -> np.ndarray:
    """What a release shows of the first cell: prepared noise on the exact answer, anew for every run."""
    return answer[0] + mechanism.draw(N_RUNS, gd.research_rng(first_key))[:, 0]


def audit(mechanism) -> float:
    without, with_one = np.array([0, 5, 7]), np.array([1, 5, 7])
    below, above = prepared_runs(mechanism, without, 11), prepared_runs(mechanism, with_one, 12)
    return kit.breaks_guarantee(kit.guesses(below, above, threshold=1), 2 * N_RUNS, EPSILON)


@pytest.mark.parametrize("kind", [gd.Laplace, gd.Identity])
def test_a_histogram_keeps_its_guarantee(kind) -> None:
    body = gd.marginals(SMALL, "a").sensitivity(gd.PrivacyUnit())
    assert audit(kind.calibrate(body, gd.PureDP(EPSILON))) > ALARM
    assert audit(kind.calibrate(body, gd.PureDP(1.1 * EPSILON))) < ALARM


def test_a_release_is_the_exact_answer_and_prepared_noise() -> None:
    """So the audit of prepared noise is one of releases."""
    rows = [{"a": 0}, {"a": 2}, {"a": 2}, {"a": None}]
    for key, unit in enumerate([gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")]):
        for table in (StubTable(SMALL, rows, unit), StubTable(SMALL, rows[1:], unit)):
            query = gd.marginals(SMALL, "a")
            mechanism = gd.plan(query, unit, epsilon=EPSILON).mechanism
            exact = query.evaluate(table, bytes(16))
            noisy = mechanism.prepare(gd.research_rng(key))(exact)
            assert released(table, key, epsilon=EPSILON).tolist() == noisy.tolist()


# -- end to end: many cells, one release -------------------------------------------------------------


class Level(Rows):
    """A table with as many rows in every cell: the cells of one release are independent runs of the audit."""

    domain = gd.Domain.of(a=gd.integers(1, N_RUNS))
    unit = gd.PrivacyUnit()
    name = "level"

    def __init__(self, count: int) -> None:
        self.count = count

    def totals(self, totals, row_key) -> list[np.ndarray]:
        assert len(row_key) == 16
        return [np.full(N_RUNS, self.count) for _ in totals]


def audit_end_to_end(**guarantee) -> float:
    below, above = released(Level(3), 21, **guarantee), released(Level(4), 22, **guarantee)
    return kit.breaks_guarantee(kit.guesses(below, above, threshold=4), 2 * N_RUNS, EPSILON)


def test_releases_keep_their_guarantee_end_to_end() -> None:
    assert audit_end_to_end(epsilon=EPSILON) > ALARM
    assert audit_end_to_end(epsilon=1.1 * EPSILON) < ALARM


def test_other_thresholds_tell_no_more() -> None:
    below, above = released(Level(3), 23, epsilon=EPSILON), released(Level(4), 24, epsilon=EPSILON)
    for threshold in (1, 2, 3, 5, 6, 8):
        assert kit.breaks_guarantee(kit.guesses(below, above, threshold), 2 * N_RUNS, EPSILON) > ALARM / 6
