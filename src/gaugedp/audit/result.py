"""What an audit found."""

import math
from dataclasses import dataclass, fields
from typing import Any

from gaugedp.guarantees.base import Guarantee

_SHOWN = 8


@dataclass(frozen=True)
class Test:
    """One test. `p_value` bounds the probability of what was seen, or worse, where the claim is true.

    `counted`: it may alarm; the others are shown for what they say and nothing is concluded from them. Black-box tests
    carry a lower bound on ε at `delta`, and the ε that is claimed there.
    """

    __test__ = False  # for pytest: this is no test case

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
        """Return the test as JSON can hold it: infinity as null."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in found.items()}


@dataclass(frozen=True)
class Audit:
    """An audit of a mechanism on two answers, against its claim.

    `epsilon_lower` is a bound from below, valid with probability `confidence`, on the ε of the mechanism at `delta`;
    `epsilon_claimed` is the ε that the claim has there. `violated`: the bound is above it, or the noise does not
    follow the law that is claimed (a white-box test, which also finds noise that is too large). Both together alarm
    falsely with probability at most 1 − `confidence`. `method` is the test that decided.
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

    def table(self) -> list[dict[str, Any]]:
        """Return the tests as rows: those that count first, then by p-value."""
        order = sorted(self.tests, key=lambda test: (not test.counted, test.p_value))
        return [test.to_dict() for test in order]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"guarantee": repr(self.guarantee), "tests": self.table()}

    @property
    def verdict(self) -> str:
        """The finding in a sentence."""
        at = f" at δ = {self.delta:.6g}" if self.delta else ""
        bound = f"ε ≥ {self.epsilon_lower:.4g}{at} with confidence {self.confidence:.10g}"
        if not self.violated:
            return f"No violation found: {bound}, where {self.epsilon_claimed:.4g} is claimed ({self.method})."
        if self.epsilon_lower > self.epsilon_claimed:
            return f"The claim is violated: {bound}, where {self.epsilon_claimed:.4g} is claimed ({self.method})."
        return f"The noise is not what it is said to be ({self.method}); {bound}."

    def __repr__(self) -> str:
        lines = [f"Audit of {self.mechanism}", self.verdict, f"{self.runs:,} runs, {self.seconds:.1f} s"]
        shown = self.table()[:_SHOWN]
        lines += [_line(row) for row in shown]
        if len(self.tests) > len(shown):
            lines.append(f"  and {len(self.tests) - len(shown)} more: see .table()")
        return "\n".join(lines)


def _line(row: dict[str, Any]) -> str:
    mark = "!" if row["alarms"] else "*" if row["counted"] else " "
    bound = "" if row["epsilon_lower"] is None else f", ε ≥ {row['epsilon_lower']:.3g}"
    detail = f" ({row['detail']})" if row["detail"] else ""
    return f"{mark} {row['kind']}: {row['name']}: p = {row['p_value']:.3g}{bound}{detail}"
