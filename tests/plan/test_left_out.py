"""Errors that are not drawn: bounds below them, and which mechanisms these leave out.

Widths of the noise of many plans are pinned in tests/golden.
"""

import pytest

import gaugedp as gd
from gaugedp.queries.candidate import weigh
from gaugedp.releases.planning import Plan
from tests.golden.tables import WIDE


def test_noise_narrower_than_a_row_is_weighed_as_it_is_rounded() -> None:
    actual = planned("mean(PAY)", 5.0)
    assert actual.mechanism.name == "Cube"
    assert actual.error == pytest.approx(0.42417, rel=1e-3)


def test_what_is_beaten_errs_as_much_as_is_said() -> None:
    """The bound is below the error, and above what is chosen by more than an exact mechanism is allowed."""
    actual = planned("A; B; C")
    (dominated,) = actual.dominated
    assert dominated.mechanism.name == "Identity"
    assert 1.1 * actual.error < dominated.least <= dominated.error
    assert f"Identity (error at least {dominated.least:.3g}"[:27] in actual.left_out_in_words()
    assert "Identity" not in {row["mechanism"] for row in actual.table()}


@pytest.mark.parametrize(
    "text", ["B; B*C", "A; B; C", "prefix(C)", "ranges(A)", "G*C; A", "mean(PAY)", "sum(PAY) by A; A"]
)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_a_least_error_is_below_the_error(text: str, epsilon: float) -> None:
    """Trial draws, by which errors of noise on cells and of narrow noise are found, are within 2 %."""
    for candidate in planned(text, epsilon).candidates:
        assert candidate.least < candidate.error * (1 + 0.02), candidate.mechanism.name
        if candidate.mechanism.name == "Identity" and "sum" not in text:
            assert candidate.least > 0.5 * candidate.error


def test_only_what_is_further_off_than_a_tenth_is_beaten() -> None:
    candidates = list(planned("A; B; C").candidates)
    for candidate in candidates:
        vars(candidate).update(least=0.0, error=10.0)
    vars(candidates[1]).update(least=11.0, error=11.0)
    assert not weigh(candidates)[1]
    vars(candidates[1]).update(least=11.1, error=11.1)
    assert weigh(candidates)[1] == [candidates[1].mechanism]


def planned(text: str, epsilon: float = 1.0) -> Plan:
    return gd.plan(gd.query(WIDE, text), gd.PrivacyUnit(), epsilon=epsilon)
