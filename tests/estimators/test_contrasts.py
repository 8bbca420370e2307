"""Coefficients beside a reference level: what they are of the model's, what is refused, and how sure they are."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.estimators.reference_levels import Contrasts
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.optimization.best_weights import NoisyEvidence, NormalMixture

DOMAIN = gd.Domain.of(A=list("xyz"), B=list("pq"), Z=gd.bounded(0, 10), Y=gd.bounded(0, 100))
DESIGN = TableDesign.of(DOMAIN, ["A", "B", "Z"], "Y", by_class=False)


def test_they_are_differences_from_the_reference_cells() -> None:
    means = np.array([[1.0, 4, 9, 2, 7, 30, 50]])
    law = NormalMixture(means, np.arange(1.0, 8)[None], np.zeros((1, 1, 7)), np.eye(7), np.zeros(7))
    facts = Contrasts.read(DESIGN, "B=q").facts(law)
    assert facts["reference"] == {"A": "x", "B": "q"}
    lines = facts["coefficients"]
    assert {name: line["estimate"] for name, line in lines.items()} == pytest.approx(
        {"A=y": 3, "A=z": 8, "B=p": -5, "Z": 6, "intercept": 50 + 1 + 7 - 30}
    )
    assert lines["A=y"]["standard_error"] == pytest.approx(np.sqrt(1 + 2), rel=1e-5)
    assert lines["A=y"]["lower"] == pytest.approx(3 - 2.0537489 * np.sqrt(3))


@pytest.mark.parametrize("text", ["C=x", "A=w", "A", "A=x, A=y"])
def test_other_levels_are_refused(text: str) -> None:
    with pytest.raises((gd.InvalidRequest, gd.UnknownName)):
        Contrasts.read(DESIGN, text)


def test_all_rows_are_weighted_sums_of_the_possible_rows() -> None:
    rng = np.random.default_rng(1)
    cells = np.column_stack([rng.integers(0, 3, 50), rng.integers(0, 2, 50)])
    rows = DESIGN.rows_of(cells, rng.integers(0, 11, (50, 1)))
    constant = np.ones((50, 1))
    possible = DESIGN.possible_rows()
    span = np.hstack([possible, np.ones((len(possible), 1))])
    actual, *_ = np.linalg.lstsq(span.T, np.hstack([rows, constant]).T, rcond=None)
    assert span.T @ actual == pytest.approx(np.hstack([rows, constant]).T)


@pytest.mark.statistical
def test_within_the_span_of_rows_intervals_hold_and_are_far_shorter() -> None:
    """Noise turns second moments that have no inverse into ones whose inverse is anything."""
    rng = np.random.default_rng(2)
    possible = np.hstack([DESIGN.possible_rows(), np.ones((5, 1))])
    rows = possible[rng.integers(0, len(possible), 3000)]
    true, sd = np.array([5.0, 0, -5, 2, -2, 3, 10]), 2.0
    span = np.linalg.qr(possible.T)[0]
    contrast = np.array([1.0, 0, -1, 0, 0, 0, 0])
    held, lengths = [], []
    for _ in range(200):
        target = rows @ true + rng.normal(0, sd, len(rows))
        noise = rng.normal(0, 4.0, (7, 7))
        second = rows.T @ rows + (noise + noise.T) / 2
        gradient = -rows.T @ target + rng.normal(0, 4.0, 7)
        seen = NoisyEvidence(second, np.zeros((1, 7)), gradient[None], 4.0, 4.0, 1e9)
        laws = [seen.within(span).best(sd**2).mapped(span, np.zeros(7)), seen.best(sd**2)]
        low, high = laws[0].mapped(contrast[None], np.zeros(1)).interval(0.95)
        held.append(low[0] <= 10 <= high[0])
        lengths.append([law.mapped(contrast[None], np.zeros(1)).deviations[0] for law in laws])
    assert np.mean(held) >= 0.88, "five standard errors of a share of 95 % in 200"
    short, long = np.median(lengths, axis=0)
    assert long > 1.5 * short
