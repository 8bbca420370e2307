"""Twenty questions have the mechanisms and the errors that they had when every candidate's error was drawn.

Where Matrix has become exact, it is chosen before an exact mechanism that errs up to a tenth more.
"""

import pytest

import gaugedp as gd
from gaugedp.planning import Plan
from gaugedp.queries.candidate import weigh

DOMAIN = gd.Domain.of(
    A=gd.integers(0, 9),
    B=gd.categories(["x", "y"]),
    C=gd.bins(0, 100, 5),
    E=gd.integers(0, 3),
    F=gd.categories(list("abcdef")),
    G=gd.integers(0, 63),
    PAY=gd.bounded(0, 100000, 10),
    AGE=gd.bounded(0, 120),
)
KNOWN = [
    ("A", "Laplace", 4.04081, "Gaussian", 3.08424),
    ("A*C", "Laplace", 19.1248, "Gaussian", 14.1245),
    ("B; B*C", "Identity", 11.6516, "Matrix", 7.62252),
    ("A; B; C", "Matrix", 19.9048, "Matrix", 8.67507),
    ("A*B; B*C; A*C", "Identity", 46.7865, "Matrix", 23.4984),
    ("prefix(C)", "Matrix", 16.2653, "Matrix", 7.61015),
    ("ranges(A)", "Identity", 18.059, "Matrix", 11.424),
    ("mean(PAY)", "Cube", 2.30813, "Gaussian", 1.76735),
    ("sum(PAY)", "Staircase", 95951.7, "Gaussian", 79788.5),
    ("sum(PAY); sum(AGE)", "KNorm", 2.07389, "Matrix", 1.4231),
    ("mean(PAY) by B", "Matrix", 3.56687, "Gaussian", 2.65825),
    ("B; mean(AGE) by E", "Matrix", 9.53505, "Matrix", 4.99924),
    ("B; ranges(E)", "KNorm", 7.37823, "Matrix", 4.71755),
    ("G*C", "Laplace", 48.522, "Gaussian", 35.7701),
    ("A; prefix(G)", "Matrix", 137.906, "Matrix", 19.3873),
    ("B; E; F; B*E", "Matrix", 13.112, "Matrix", 6.72653),
    ("quantiles(AGE, 0.5)", "RankExponential", 11.7629, "RankExponential", 3.60162),
    ("sum(PAY) by A; A", "Matrix", 7.5294, "Matrix", 5.11401),
    ("prefix(G)", "Matrix", 40.4034, "Matrix", 16.4755),
    ("ranges(G)", "Matrix", 244.979, "Matrix", 104.23),
]  # the question; mechanism and error at ε = 1, and at ρ = 0.5


@pytest.mark.parametrize(("text", "pure", "pure_error", "normal", "normal_error"), KNOWN, ids=[row[0] for row in KNOWN])
def test_plans_are_the_same(text: str, pure: str, pure_error: float, normal: str, normal_error: float) -> None:
    """Errors to a thousandth: some are by quadrature, once means of draws; those of Identity of other draws."""
    query, unit = gd.query(DOMAIN, text), gd.PrivacyUnit()
    at_epsilon, at_rho = gd.plan(query, unit, epsilon=1.0), gd.plan(query, unit, rho=0.5)
    assert (at_epsilon.mechanism.name, at_rho.mechanism.name) == (pure, normal)
    assert at_epsilon.error == pytest.approx(pure_error, rel=1e-3)
    assert at_rho.error == pytest.approx(normal_error, rel=1e-3)


def test_noise_narrower_than_a_row_is_weighed_as_it_is_rounded() -> None:
    actual = planned("mean(PAY)", 5.0)
    assert actual.mechanism.name == "Cube"
    assert actual.error == pytest.approx(0.42417, rel=1e-3)


def test_what_is_beaten_errs_as_much_as_is_said() -> None:
    """The bound is below the error, and above what is chosen by more than an exact mechanism is allowed."""
    actual = planned("A; B; C")
    (beaten,) = actual.beaten
    assert beaten.mechanism.name == "Identity"
    assert 1.1 * actual.error < beaten.least <= beaten.error
    assert f"Identity (cannot err less than {beaten.least:.3g}"[:33] in actual.left_out_in_words()
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
    return gd.plan(gd.query(DOMAIN, text), gd.PrivacyUnit(), epsilon=epsilon)
