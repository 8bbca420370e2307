"""One-run audits with many canaries in a single release."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected
from gaugedp._internal.displays import drawn_by
from gaugedp._internal.numbers import digits_down
from gaugedp._internal.validate import between, one_of, whole
from gaugedp.audit.clopper_pearson import most_right
from gaugedp.audit.one_run_gaussian import mu_by_curve, mu_by_independence
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import check_delta
from gaugedp.guarantees.gaussian_curve import gaussian_epsilon

DP, GDP, INDEPENDENT = "dp", "gdp", "independent"
_CURVE = "the trade-off curve of one unit, added or removed, is a Gaussian one"
HYPOTHESES = {
    DP: "(ε, δ)-DP for one unit, added or removed",
    GDP: _CURVE,
    INDEPENDENT: f"{_CURVE}, and the guesses are right independently of each other",
}
_MU = {GDP: mu_by_curve, INDEPENDENT: mu_by_independence}


class LowerBound(float):
    """Lower bound on ε, with the hypothesis that it needs.

    It is a float; the attribute `hypothesis` states the hypothesis in words.
    """

    hypothesis: str

    def __new__(cls, value: float, hypothesis: str = "") -> Self:
        """Return the number with its hypothesis."""
        bound = super().__new__(cls, value)
        bound.hypothesis = hypothesis
        return bound


def one_run(
    n_canaries: int, guessed: int, correct: int, confidence: float = 0.99, delta: float = 0.0, assume: str = DP
) -> LowerBound:
    """Return a lower bound on ε from one release with canaries.

    Use it to audit a computation that is too slow to be repeated, such as a training run. Canaries are artificial
    units; for each of them a fair coin decides whether it is put into the data. If an attacker can guess many of the
    coins from the release, ε must be large. `audit_canaries` tosses the coins and counts the guesses.

    Parameters
    ----------
    n_canaries, guessed, correct : int
        The number of canaries, the number of coins that were guessed (which you fix before the release), and the number
        of right guesses.
    confidence : float
        The probability with which the bound holds. Default 0.99.
    delta : float
        The δ at which ε is bounded. Default 0.
    assume : {"dp", "gdp", "independent"}
        "dp", the default, assumes only (ε, δ)-DP for one unit added or removed (Steinke, Nasr and Jagielski 2023,
        theorem 5.2). "gdp" assumes that the mechanism's trade-off curve is that of μ-GDP (Mahloujifar, Melis and
        Chaudhuri 2025). "independent" assumes moreover that guesses are right independently of each other, which μ-GDP
        does not imply.

    Returns
    -------
    LowerBound
        The bound; its `hypothesis` states in words what it assumes.

    Examples
    --------
    If 90 of 100 guesses are right, ε is at least 1.44. For 6,915 right guesses of 10,000, stronger assumptions give
    larger bounds:

    >>> from gaugedp.audit import one_run
    >>> round(one_run(n_canaries=1000, guessed=100, correct=90), 2)
    1.44
    >>> [round(one_run(10_000, 10_000, 6915, 0.95, 1e-5, assume), 2) for assume in ("dp", "gdp", "independent")]
    [0.77, 1.31, 4.16]
    """
    whole(minimum=1, n_canaries=n_canaries)
    whole(minimum=0, guessed=guessed, correct=correct)
    _check(confidence, delta, assume)
    if not correct <= guessed <= n_canaries:
        raise InvalidRequest(
            f"`correct` is {correct}, `guessed` is {guessed} and `n_canaries` is {n_canaries}, but these must not "
            "decrease in this order.",
            "Pass the number of correct guesses, of all guesses, and of all canaries.",
        )
    counts = int(n_canaries), int(guessed), int(correct)
    if assume == DP:
        return LowerBound(_epsilon(*counts, 1 - confidence, delta), HYPOTHESES[DP])
    mu = _MU[assume](*counts, 1 - confidence)
    return LowerBound(gaussian_epsilon(mu, delta) * (1 - 1e-9) if mu > 0 else 0.0, HYPOTHESES[assume])


def _check(confidence: float, delta: float, assume: str) -> None:
    between(0, 1, confidence=confidence)
    check_delta(delta)
    one_of(tuple(HYPOTHESES), assume=assume)
    if assume != DP and delta == 0:
        raise InvalidRequest(
            "A Gaussian curve has no finite epsilon at delta = 0.", "Pass a positive `delta`, such as 1e-5."
        )


def _epsilon(n_canaries: int, guessed: int, correct: int, miss: float, delta: float) -> float:
    """Return the largest ε that theorem 5.2 refutes."""

    def is_refuted(epsilon: float) -> bool:
        return one_run_p_value(epsilon, n_canaries, guessed, correct, delta) <= miss

    return bisected(0.0, 100.0, is_refuted, apart=2.0**-50)[0] * (1 - 1e-9) if is_refuted(0.0) else 0.0


def one_run_p_value(epsilon: float, n_canaries: int, guessed: int, correct: int, delta: float = 0.0) -> float:
    """Return the bound of theorem 5.2 on P(so many right guesses)."""
    share = most_right(epsilon, 0.0)
    at_least = scipy.special.bdtrc(np.arange(-1.0, guessed), guessed, share)  # P(≥ 0), P(≥ 1), …, P(≥ guessed)
    at_least[0] = 1.0
    gains = at_least[:correct][::-1] - at_least[correct]  # P(v − i ≤ … < v), i = 1, 2, …
    steepest = float((gains / np.arange(1, correct + 1)).max(initial=0.0))
    return min(1.0, float(at_least[correct]) + 2 * n_canaries * delta * steepest)


@dataclass(frozen=True)
class OneRun:
    """Result of a canary audit: a lower bound on ε.

    `epsilon_lower` is the bound at `delta`, and `hypothesis` states what it assumes.
    """

    n_canaries: int
    guessed: int
    correct: int
    confidence: float
    delta: float
    assume: str = DP

    _repr_html_ = drawn_by("one_run")

    @property
    def epsilon_lower(self) -> LowerBound:
        """The lower bound on ε; see `one_run`."""
        return one_run(self.n_canaries, self.guessed, self.correct, self.confidence, self.delta, self.assume)

    @property
    def hypothesis(self) -> str:
        """The hypothesis that the bound needs, in words."""
        return HYPOTHESES[self.assume]

    def __repr__(self) -> str:
        at = f" at δ = {self.delta:.6g}" if self.delta else ""
        provided = f", if {self.hypothesis}" if self.assume != DP else ""
        return (
            f"One run: {self.correct:,} of {self.guessed:,} guesses about {self.n_canaries:,} canaries are right; "
            f"ε ≥ {digits_down(self.epsilon_lower)}{at} with confidence {self.confidence:.10g}{provided}"
        )


def audit_canaries(  # noqa: PLR0913, PLR0917 - an entry point
    release_fn: Callable[[np.ndarray], Any],
    score_fn: Callable[[Any], np.ndarray],
    n_canaries: int,
    guessed: int,
    confidence: float = 0.99,
    delta: float = 0.0,
    rng: Entropy | None = None,
    assume: str = DP,
) -> OneRun:
    """Audit a release in one run, with randomly included canaries.

    Use it to test the privacy claim of a computation that is too slow to be repeated, such as a training run. A canary
    is an artificial unit, for example a made-up person. For each canary, the function tosses a fair coin that decides
    whether it is put into the data. It makes the release once, guesses the coins from your scores, and returns the
    lower bound on ε of `one_run`.

    Parameters
    ----------
    release_fn : callable
        `release_fn(included)` makes the release from data with those canaries for which `included`, of shape
        (n_canaries,), is True.
    score_fn : callable
        `score_fn(output)` returns one score for each canary, which is large if the canary seems to be in the data.
    n_canaries : int
        The number of canaries.
    guessed : int
        The number of canaries to guess, an even number. Half of them, those with the largest scores, are guessed to be
        in the data. The other half, those with the smallest scores, are guessed not to be.
    confidence, delta, assume
        As for `one_run`.
    rng : Entropy, optional
        Random stream for the coins. By default the operating system supplies the randomness.

    Returns
    -------
    OneRun
        The lower bound on ε and its hypothesis.
    """
    whole(minimum=2, n_canaries=n_canaries, guessed=guessed)
    if guessed % 2 or guessed > n_canaries:
        raise InvalidRequest(
            f"`guessed` is {guessed}, but must be an even number of at most `n_canaries`.",
            "Pass an even number, because half of the guesses are for members.",
        )
    _check(confidence, delta, assume)
    included = (system_rng() if rng is None else rng).bits(n_canaries)
    scores = np.asarray(score_fn(release_fn(included.copy())), dtype=float)
    if scores.shape != included.shape:
        raise InvalidRequest(
            f"`score_fn` returned an array of shape {scores.shape} instead of one score per canary.",
            f"Let it return {n_canaries} numbers.",
        )
    if np.isnan(scores).any():
        raise InvalidRequest(
            "`score_fn` returned NaN for a canary.", f"Let it return {n_canaries} numbers, one per canary."
        )
    order = np.argsort(scores, kind="stable")
    right = int(included[order[-guessed // 2 :]].sum()) + int((~included[order[: guessed // 2]]).sum())
    return OneRun(n_canaries, guessed, right, confidence, delta, assume)
