"""Intervals of quotients are as wide as theorem 5 says, at their very ends: narrower ones would hold too seldom."""

import numpy as np
import pytest

from gaugedp.deriving.figures import Form, Quotient, Squares, beyond, difference

MISSES = 0.05


def draws(*scales: float) -> np.ndarray:
    rng = np.random.default_rng(11)
    return np.array(scales) * np.rint(rng.laplace(scale=2, size=(4000, len(scales))))


def test_an_end_of_a_linear_quotient_is_where_the_noise_reaches() -> None:
    noise, numbers = draws(1, 1), np.array([50.0, 100])
    share = Quotient(Form(np.array([1.0, 0])), Form(np.array([0, 1.0])), 0.0, 1.0, 0.5)
    ends = share.under(noise).ends(numbers, MISSES)
    assert ends[0] < 0.5 < ends[1]
    for end in ends:
        reach = beyond(np.abs(noise[:, 0] - end * noise[:, 1]), MISSES)
        assert np.abs(numbers[0] - end * numbers[1]) == pytest.approx(float(reach), abs=0.3)


def test_an_end_of_a_quotient_of_products_is_where_the_noise_and_its_products_reach() -> None:
    noise, numbers = draws(50, 1, 50, 1), np.array([400.0, 80, -200, 80])
    figure = difference(50)
    top, bottom = figure.top, figure.bottom
    for end in figure.under(noise).ends(numbers, MISSES):
        assert abs(end) < 100, "the range does not cut it"
        along = noise @ (top.gradient(numbers) - end * bottom.gradient(numbers))
        products = [Squares(form, noise).reach(MISSES) for form in (top, bottom)]
        reach = float(beyond(np.abs(along), 0.8 * MISSES)) + products[0] + abs(end) * products[1]
        assert min(products) > 0
        assert np.abs(top.at(numbers) - end * bottom.at(numbers)) == pytest.approx(reach, rel=0.01)
