"""One run, many canaries: gross errors are found, kept guarantees are not accused."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

N = 2000


def noisy_bits(scale: float, seed: int):
    """Each canary moves its own sum by 1; Laplace noise of that scale."""
    noise = np.random.default_rng(seed)
    return lambda included: included + noise.laplace(scale=scale, size=N)


@pytest.mark.statistical
def test_canaries_find_what_is_leaked_and_no_more() -> None:
    """Each canary is released at ε = 1/scale; false alarms 1e-6 each, the keys are fixed."""
    options = {"n_canaries": N, "guessed": 1000, "confidence": 1 - 1e-6}
    kept = gd.audit.audit_canaries(noisy_bits(1.0, 1), np.asarray, rng=gd.research_rng(1), **options)
    assert 0.4 < kept.epsilon_lower < 1
    leaked = gd.audit.audit_canaries(noisy_bits(0.25, 2), np.asarray, rng=gd.research_rng(2), **options)
    assert 1.5 < leaked.epsilon_lower < 4
    assert leaked.correct > kept.correct


def test_without_noise_every_guess_is_right() -> None:
    actual = gd.audit.audit_canaries(lambda included: included, np.asarray, n_canaries=100, guessed=40)
    assert actual.correct == 40
    assert actual.epsilon_lower == pytest.approx(gd.audit.one_run(100, 40, 40))


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        ({"n_canaries": 10, "guessed": 3}, "`guessed` is 3"),
        ({"n_canaries": 10, "guessed": 12}, "`guessed` is 12"),
        ({"n_canaries": 0, "guessed": 2}, "`n_canaries` is 0"),
        ({"n_canaries": 10, "guessed": 4, "confidence": 2.0}, "`confidence` is 2.0"),
    ],
)
def test_bad_requests(requested: dict, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        _ = gd.audit.audit_canaries(lambda included: included, np.asarray, **requested).epsilon_lower


def test_scores_and_counts_must_fit() -> None:
    with pytest.raises(InvalidRequest, match="of shape"):
        gd.audit.audit_canaries(lambda included: included, lambda _: np.zeros(3), n_canaries=10, guessed=2)
    for scores in (np.full(10, np.nan), np.array([*range(9), np.nan])):
        with pytest.raises(InvalidRequest, match="returned NaN"):
            gd.audit.audit_canaries(lambda included: included, lambda _: scores, n_canaries=10, guessed=2)  # noqa: B023
    with pytest.raises(InvalidRequest, match="`correct` is"):
        gd.audit.one_run(10, 5, 6)
    with pytest.raises(InvalidRequest, match="delta"):
        gd.audit.one_run(10, 5, 5, delta=2.0)


def test_one_run_says_what_it_proves() -> None:
    actual = gd.audit.OneRun(1000, 500, 450, 0.99, 1e-5)
    assert repr(actual) == (
        "One run: 450 of 500 guesses about 1,000 canaries are right; ε ≥ 1.849 at δ = 1e-05 with confidence 0.99"
    )
    assert " at δ" not in repr(gd.audit.OneRun(1000, 500, 450, 0.99, 0.0))


def test_bad_numbers_are_refused_before_the_release() -> None:
    for more in ({"confidence": 2.0}, {"delta": 2.0}):
        with pytest.raises(InvalidRequest):
            gd.audit.audit_canaries(lambda _: pytest.fail("released"), np.asarray, n_canaries=10, guessed=2, **more)
