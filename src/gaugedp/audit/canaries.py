"""One-run audits with many canaries in a single release."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected
from gaugedp._internal.displays import drawn_by
from gaugedp._internal.numbers import digits_down
from gaugedp._internal.validate import between, whole
from gaugedp.audit.clopper_pearson import most_right
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import check_delta


def one_run(n_canaries: int, guessed: int, correct: int, confidence: float = 0.99, delta: float = 0.0) -> float:
    """Return a lower bound on ε from one release.

    It holds at `delta` with probability `confidence`. Each of `n_canaries` units is in the data by an independent fair
    coin; `guessed` of the coins are guessed, and `correct` of the guesses are right.

    Theorem (Steinke, Nasr and Jagielski 2023, theorem 5.2). Under (ε, δ)-DP for one unit added or removed, P(correct ≥
    v) ≤ f(v) + 2mδ·max_i (f(v − i) − f(v))/i, f(v) = P(Binomial(guessed, e^ε/(1 + e^ε)) ≥ v).

    Examples
    --------
    >>> from gaugedp.audit import one_run
    >>> round(one_run(n_canaries=1000, guessed=100, correct=90), 2)
    1.44
    """
    whole(minimum=1, n_canaries=n_canaries)
    whole(minimum=0, guessed=guessed, correct=correct)
    between(0, 1, confidence=confidence)
    check_delta(delta)
    if not correct <= guessed <= n_canaries:
        raise InvalidRequest(
            f"{correct} of {guessed} guesses about {n_canaries} canaries cannot be correct.",
            "Give correct <= guessed <= n_canaries.",
        )
    counts = int(n_canaries), int(guessed), int(correct)
    if one_run_p_value(0.0, *counts, delta) > 1 - confidence:
        return 0.0

    def is_refuted(epsilon: float) -> bool:
        return one_run_p_value(epsilon, *counts, delta) <= 1 - confidence

    return bisected(0.0, 100.0, is_refuted, apart=2.0**-50)[0] * (1 - 1e-9)  # the largest ε


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
    """Result of an audit with canaries: ε ≥ `epsilon_lower` at `delta`, with probability `confidence`."""

    n_canaries: int
    guessed: int
    correct: int
    confidence: float
    delta: float

    _repr_html_ = drawn_by("one_run")

    @property
    def epsilon_lower(self) -> float:
        """The lower bound of `one_run`."""
        return one_run(self.n_canaries, self.guessed, self.correct, self.confidence, self.delta)

    def __repr__(self) -> str:
        at = f" at δ = {self.delta:.6g}" if self.delta else ""
        return (
            f"One run: {self.correct:,} of {self.guessed:,} guesses about {self.n_canaries:,} canaries are right; "
            f"ε ≥ {digits_down(self.epsilon_lower)}{at} with confidence {self.confidence:.10g}"
        )


def audit_canaries(  # noqa: PLR0913, PLR0917 - an entry point
    release_fn: Callable[[np.ndarray], Any],
    score_fn: Callable[[Any], np.ndarray],
    n_canaries: int,
    guessed: int,
    confidence: float = 0.99,
    delta: float = 0.0,
    rng: Entropy | None = None,
) -> OneRun:
    """Audit a release with randomly included canaries.

    A fair coin decides for each canary whether the data include it. `release_fn(included)` makes the release, with the
    canaries where `included` (m,) is True; `score_fn(output)` gives a score for each, large if it seems to be in the
    data. The guessed/2 canaries with the largest scores are guessed in, the guessed/2 with the smallest out; `guessed`
    is even and chosen before any output is seen.
    """
    whole(minimum=2, n_canaries=n_canaries, guessed=guessed)
    if guessed % 2 or guessed > n_canaries:
        raise InvalidRequest(f"guessed is {guessed}.", "Give an even number of at most n_canaries.")
    between(0, 1, confidence=confidence)
    check_delta(delta)
    included = (system_rng() if rng is None else rng).bits(n_canaries)
    scores = np.asarray(score_fn(release_fn(included.copy())), dtype=float)
    if scores.shape != included.shape:
        raise InvalidRequest(f"The scores have shape {scores.shape}.", f"Give {n_canaries} numbers.")
    if np.isnan(scores).any():
        raise InvalidRequest("Some scores are NaN.", f"Give {n_canaries} numbers.")
    order = np.argsort(scores, kind="stable")
    right = int(included[order[-guessed // 2 :]].sum()) + int((~included[order[: guessed // 2]]).sum())
    return OneRun(n_canaries, guessed, right, confidence, delta)
