"""The low-order bits of a release tell nothing: on neighbouring tables it always lies on the same lattice.

Mironov (2012): floats x + Laplace noise have low-order bits that depend on x. The event "|y| < 1/4 and y is no multiple
of the step" has probability 0 under every table here, so there is no false alarm to state; on numpy's Laplace noise
the same test counts about 18 % under f(D) = 0 and none under f(D′) = 1.
"""

from fractions import Fraction

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.audit.statistics import near_and_off_grid
from gaugedp.bodies import LpBall
from tests.queries.stub import StubTable

pytestmark = pytest.mark.statistical

N_DRAWS = 10**6
LINE = LpBall(1, 1, 1.0)
FINE = 2.0**-53


def event(values: np.ndarray, step: float = FINE) -> int:
    """How many outputs near 0 are no multiples of the step."""
    return int(near_and_off_grid(values, step).sum())


def released(mechanism, answer: float, key: int) -> np.ndarray:
    """N_DRAWS releases of an answer that is rounded to the lattice first."""
    step = float(mechanism.lattice_step)
    return step * (round(answer / step) + mechanism.draw(N_DRAWS, gd.research_rng(key))[:, 0])


MECHANISMS = {
    "Laplace": gd.Laplace.calibrate(LINE, gd.PureDP(1)),
    "Gaussian": gd.Gaussian.calibrate(LINE, gd.ApproxDP(1, 1e-2)),
    "discrete Gaussian": gd.Gaussian.calibrate(LINE, gd.ZCDP(0.5)),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_million_releases_of_neighbours_lie_on_one_lattice(name: str) -> None:
    mechanism = MECHANISMS[name]
    step = float(mechanism.lattice_step)
    for key, answer in enumerate((0.0, 1.0)):
        values = released(mechanism, answer, key)
        assert event(values) == 0
        assert event(values, step) == 0
        assert (np.abs(values) < 0.25).sum() > 1000  # the event could have happened
        assert np.array_equal(values / step, np.round(values / step))


def test_the_same_event_tells_floats_apart() -> None:
    rng = np.random.default_rng(1)
    noise = rng.laplace(size=100_000), 1 + rng.laplace(size=100_000)
    assert event(noise[0]) > 10_000
    assert event(noise[1]) == 0


def test_neighbouring_tables_are_released_on_the_lattice_of_the_steps() -> None:
    domain = gd.Domain.of(v=gd.bounded(-1.5, 2, step=0.1), s=["u", "w"])
    query = gd.query(domain, "sum(v) by s; count")
    rows = [{"s": 0, "v": Fraction(7, 10)}, {"s": 1, "v": None}, {"s": 1, "v": Fraction(19, 10)}]
    for key in range(6):
        for table in (StubTable(domain, rows), StubTable(domain, rows[:-1])):
            answer = gd.release(
                query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=1, rng=gd.research_rng(key)
            )
            exact = [int(number) * step for number, step in zip(answer.numbers, query.steps, strict=True)]
            assert answer.values.tolist() == [float(value) for value in exact]
            assert answer.numbers.tolist() == [int(number) for number in answer.numbers]
