"""Rows are brought into their units block by block: one copy of them, and little more."""

import tracemalloc

import numpy as np
import pytest

from gaugedp.estimators.reading import Reading
from gaugedp.estimators.regression import UnitScaling
from gaugedp.estimators.row_scaling import ScaledRows, read_scaling


@pytest.mark.slow
@pytest.mark.parametrize("box", [None, (np.full(40, -3.0), np.full(40, 3.0))])
def test_a_regression_adds_one_copy_of_its_rows(box: tuple[np.ndarray, np.ndarray] | None) -> None:
    rows = np.random.default_rng(1).standard_normal((400_000, 40))
    frame = UnitScaling(Reading(40, box), None if box else 5.0, (-1.0, 1.0), intercept=True)
    tracemalloc.start()
    steps = frame.features(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.8 * rows.nbytes
    assert (steps == np.rint(steps)).all()
    assert (frame.features(rows[:1000]) == steps[:1000]).all()


def test_a_classifier_adds_one_copy_of_its_rows() -> None:
    rows = np.random.default_rng(1).standard_normal((400_000, 40))
    design = ScaledRows(read_scaling(Reading(40), 5.0), np.zeros(40), 1.0, 0.2)
    tracemalloc.start()
    made = design.rows(rows, np.full(len(rows), True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.95 * rows.nbytes
    assert (design.rows(rows[:1000], np.full(1000, True)) == made[:1000]).all()
