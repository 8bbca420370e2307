"""Bounds on membership inference, and their table."""

from dataclasses import dataclass
from typing import Any, Protocol

from gaugedp._internal.numbers import digits_down, digits_up


class Stated(Protocol):
    """Guarantee from which a risk follows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee in a form for JSON."""


@dataclass(frozen=True)
class MembershipTest:
    """Bounds for membership tests with one `false_positive_rate`.

    `true_positive_rate` bounds the probability that a test recognises a unit that is in the table. `posterior` bounds
    the probability, given the prior, that a unit is in the table if the test declares that it is.
    """

    false_positive_rate: float
    true_positive_rate: float
    posterior: float


@dataclass(frozen=True)
class MembershipRisk:
    """Upper bounds on the success of any membership test.

    Use it to explain a guarantee to people who do not know ε. A membership test sees everything that was released and
    guesses whether one unit is in the table. `prior` is the attacker's probability, before the release, that the unit
    is in the table.

    - `advantage` bounds the true-positive rate minus the false-positive rate.
    - `accuracy` bounds the probability of a correct guess, and `posterior` the attacker's probability after any output.
    - `mu` limits every test: none does better than the best test between the normal distributions N(0, 1) and N(`mu`,
      1). It is None if no such number is known.
    """

    guarantee: Stated
    prior: float
    advantage: float
    accuracy: float
    posterior: float
    mu: float | None
    tests: tuple[MembershipTest, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers in a form for JSON."""
        facts = {name: value for name, value in vars(self).items() if name not in {"guarantee", "tests"}}
        return {"guarantee": self.guarantee.to_dict(), **facts, "tests": [vars(test) for test in self.tests]}

    def table(self) -> str:
        """Return the numbers as text, rounded towards more risk."""
        mu = "not known" if self.mu is None else digits_up(self.mu)
        rows = [
            ("advantage", digits_up(self.advantage), "true-positive rate minus false-positive rate, at most"),
            ("accuracy", digits_up(self.accuracy), f"of a guess, at most, where the prior is {self.prior:g}"),
            ("posterior", digits_up(self.posterior), "after any output at all, at most"),
            ("mu", mu, "no better than a test between N(0, 1) and N(mu, 1)"),
            *(_row(test) for test in self.tests),
        ]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = (f"{name:<{widths[0]}}  {number:<{widths[1]}}  {words}" for name, number, words in rows)
        return "\n".join([repr(self.guarantee), *lines])


def _row(test: MembershipTest) -> tuple[str, str, str]:
    missed = digits_down(max(0.0, 1 - test.true_positive_rate))
    words = f"true positives at most; {missed} are missed at least; posterior {digits_up(test.posterior)}"
    return f"at {test.false_positive_rate:g} false positives", digits_up(test.true_positive_rate), words
