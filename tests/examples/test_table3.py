"""The example of the published comparison: its numbers, its page, and the mistakes that it names."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {40: (352.49, 78.07), 20: (122.92, 42.11)}  # exact quadrature; an independent sampler, to 0.03


@pytest.fixture(scope="module")
def example() -> ModuleType:
    import examples.table3

    return examples.table3


@pytest.fixture(scope="module")
def rows(example: ModuleType) -> list:
    return example.table()


@pytest.mark.slow
def test_corrected_errors_are_the_known_ones(rows: list) -> None:
    for row in rows:
        laplace, knorm = (value / row.epsilon for value in KNOWN[row.d])
        assert row.laplace == pytest.approx(laplace, rel=2e-3)
        assert row.knorm == pytest.approx(knorm, abs=4 * row.deviation + 0.03 / row.epsilon)
        assert row.deviation < 0.01 * row.knorm


def test_the_printed_laplace_column_is_met_by_the_wrong_scale(example: ModuleType, rows: list) -> None:
    for row in rows:
        assert row.wrong_laplace == pytest.approx(example.PRINTED[row.d, row.epsilon][0], rel=0.04)
        assert row.wrong_epsilon == row.d * row.epsilon


@pytest.mark.slow
def test_the_printed_walk_avoids_the_boundary(example: ModuleType) -> None:
    """4,000 walks: the mean of a uniform number is within 0.025 of 1/2 but for one time in 10^7."""
    assert example.walked(retry=False) == pytest.approx(0.5, abs=0.025)
    assert example.walked(retry=True) < 0.45


def test_the_questions_are_the_sources(example: ModuleType) -> None:
    assert set(np.unique(example.questions(40))) == {-1, 1}
    assert example.questions(20).shape == (20, 200)
    assert example.ages().min() >= 22
    assert example.ages().max() <= 38


@pytest.mark.slow
def test_the_page_in_the_docs_is_the_scripts(example: ModuleType, rows: list) -> None:
    """All but the lines with estimated errors and times, which another version may draw anew."""
    written = (ROOT / "docs" / "how-to" / "table3.md").read_text("utf-8").splitlines()
    drawn = ("±", "One draw", "for its column")
    made = [text for text in example.page(rows).splitlines() if not any(word in text for word in drawn)]
    assert len(made) > 40
    assert [text for text in written if not any(word in text for word in drawn)] == made
