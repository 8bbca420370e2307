"""Results of audits."""

import math
from dataclasses import dataclass
from typing import Any

from gaugedp._internal.displays import drawn_by
from gaugedp._internal.numbers import digits_down, digits_up, readable
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee
from gaugedp.guarantees.gaussian_curve import gaussian_mu

LOW_DIGITS = ("lowest set bit", "trailing zero bits", "numbers below 1/4 and off the grid")  # how such tests begin
_LEGEND = "Below, ! marks a test that alarms, * one that may alarm and does not; the others do not affect the verdict."
_GUESSES = "In brackets: the answer, a or b, that the score of an output suggests, and the number of right guesses."
_DIGITS_TELL = "The low digits of the outputs reveal the answer: round the outputs to audit only the calibration."
_NEAR = (
    "The two answers are {:.3g} as far apart as neighbours' can be, which weakens the audit: "
    "give two that differ by a corner of mechanism.body, such as mechanism.body.argmax(directions) finds."
)
_ONE_POINT = (
    "The claim is a single (ε, δ), which few runs contradict: for Gaussian noise claim its curve, gd.GaussianDP(Δ/σ)."
)
_RARE = (
    "An output that only one of the answers gives is detected where its probability is above about {:.1g}; "
    "rarer ones may be missed."
)
_FEW = "So few runs can hardly contradict the claim, whatever the outputs: about {:.1g} are needed."


@dataclass(frozen=True)
class Test:
    """Result of one statistical test of an audit.

    If the claimed guarantee is true, a p-value of `p_value` or less has at most that probability. Only tests that are
    `counted` can raise an alarm. Black-box tests also have a lower bound on ε at `delta`, and the ε that the claim has
    there.
    """

    __test__ = False  # for pytest: not a test case

    name: str
    kind: str
    p_value: float
    counted: bool
    alarms: bool
    detail: str = ""
    epsilon_lower: float | None = None
    epsilon_claimed: float | None = None
    delta: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the test as JSON-compatible data, with infinity as null."""
        return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in vars(self).items()}


@dataclass(frozen=True)
class Audit:
    """Result of an audit: whether a mechanism violates its guarantee.

    `violated` is True if a test contradicts the claim, which happens for a correct mechanism with probability at most 1
    − `confidence`. `method` names the decisive test. `epsilon_lower` is a lower confidence bound on the ε of the
    mechanism at `delta`, and `epsilon_claimed` is the ε that the guarantee states at this δ.

    A white-box test examines the noise distribution itself, so it also finds noise that is too large. `reach` is the
    distance between the two answers, divided by the largest distance between neighbours. For additive noise an audit
    can see only this share of ε.
    """

    mechanism: str
    guarantee: Guarantee
    epsilon_lower: float
    epsilon_claimed: float
    delta: float
    violated: bool
    method: str
    runs: int
    confidence: float
    seconds: float
    tests: tuple[Test, ...]
    reach: float = 1.0

    _repr_html_ = drawn_by("audit")

    def table(self) -> list[dict[str, Any]]:
        """Return the tests as rows, counted ones first."""
        order = sorted(self.tests, key=lambda test: (not test.counted, test.p_value))
        return [test.to_dict() for test in order]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result as JSON-compatible data."""
        return vars(self) | {"guarantee": repr(self.guarantee), "tests": self.table()}

    @property
    def mu_lower(self) -> float | None:
        """Lower confidence bound on μ, if μ-GDP is claimed.

        It is the largest μ, rounded down, with δ(`epsilon_lower`) ≤ `delta`. Without such a claim it is None.
        """
        if not isinstance(self.guarantee, GaussianDP):
            return None
        is_bound = self.epsilon_lower > 0 and 0 < self.delta < 1
        return gaussian_mu(self.epsilon_lower, self.delta) if is_bound else 0.0

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the result, as sentences."""
        if self.violated:
            return (_DIGITS_TELL,) if self._is_by_low_digits else ()
        near = (_NEAR.format(self.reach),) if self.reach < 0.5 else ()
        if not all(test.kind == "black-box" for test in self.tests):
            return near
        if self.delta == 0:
            chance = self._rarest
            return (*near, _RARE.format(chance) if chance < 1 else _FEW.format(chance * self.runs))
        is_point = isinstance(self.guarantee, ApproxDP) and self.guarantee.delta_value > 0
        return (*near, _ONE_POINT) if is_point else near

    @property
    def _rarest(self) -> float:
        """The probability above which a one-output violation is mostly seen.

        k guesses on it are all right with probability at most (e^ε/(1 + e^ε))^k if the claim is true.
        """
        # 12.0: runs for each right guess that is needed: a quarter of them counts, and luck has its room
        n_guesses = 12.0 * math.log(2 / (1 - self.confidence))
        return n_guesses / max(1e-300, self.runs * math.log1p(math.exp(-self.epsilon_claimed)))

    @property
    def _is_by_low_digits(self) -> bool:
        decided = next(test for test in self.tests if self.method == f"{test.kind}: {test.name}")
        digits = [test.p_value for test in self.tests if test.name.startswith(LOW_DIGITS)]
        ordinary = [test for test in self.tests if test.kind == "black-box" and not test.name.startswith(LOW_DIGITS)]
        if decided.kind != "black-box" or not digits or min(digits) > decided.p_value:
            return False
        least = min((test.p_value for test in ordinary), default=1.0)
        return bool(least > 0 and min(digits) <= least**2.0)

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        at = f" at δ = {self.delta:.6g}" if self.delta else ""
        claim = f"where {digits_up(self.epsilon_claimed)} is claimed ({self.method})"
        bound = f"ε ≥ {digits_down(self.epsilon_lower)}{at} with confidence {self.confidence:.10g}"
        if not self.violated:
            return f"No violation found: {bound}, {claim}."
        if self.epsilon_lower > self.epsilon_claimed:
            return f"The claim is violated: {bound}, {claim}."
        return f"The noise does not follow the claimed distribution ({self.method}); {bound}."

    def __repr__(self) -> str:
        lines = [f"Audit of {self.mechanism}", self.verdict, *self.remarks]
        if isinstance(self.guarantee, GaussianDP):
            lines.append(f"μ ≥ {digits_down(self.mu_lower or 0.0)}, where {digits_up(self.guarantee.mu)} is claimed.")
        lines += [f"{self.runs:,} runs, {self.seconds:.1f} s", _LEGEND, _GUESSES]
        shown = self.table()[:8]  # rows at most
        lines += [_line(row) for row in shown]
        if len(self.tests) > len(shown):
            lines.append(f"  and {len(self.tests) - len(shown)} more: see .table()")
        return "\n".join(lines)


def _line(row: dict[str, Any]) -> str:
    mark = "!" if row["alarms"] else "*" if row["counted"] else " "
    bound = "" if row["epsilon_lower"] is None else f", ε ≥ {digits_down(row['epsilon_lower'])}"
    detail = f" ({row['detail']})" if row["detail"] else ""
    return f"{mark} {row['kind']}: {row['name']}: p = {readable(row['p_value'])}{bound}{detail}"
