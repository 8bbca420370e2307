"""Ends of intervals that were released, and the number that stands for none."""

import numpy as np

from gaugedp.queries.estimates import Estimate


def test_an_end_at_the_number_that_stands_for_none_is_infinite() -> None:
    estimate = Estimate(3, ends=0.95, no_end=8.0)
    answers, lower, upper = np.array([3.0, 4.0, 5.0]), np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0, 9.0])
    low, high = estimate.intervals(np.concatenate([answers, lower, upper]), np.zeros(9))
    assert low.tolist() == lower.tolist()
    assert high.tolist() == [7.0, np.inf, np.inf]
    assert estimate.answers(np.concatenate([answers, lower, upper])).tolist() == answers.tolist()
