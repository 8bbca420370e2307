"""What the tests of peers expect, beside what is said here: benchmarks/peer_cases.tsv, a line a case.

Each line names the family, the peer and its test, our question, the number that the peer expects with its tolerance,
and its kind: "exact" and "approximate" are expected from both sides, "upper" is a bound that ours may not exceed,
"lower" one that ours may not go below. A line without a question cannot be expressed here, and gives the
reason; one with a question and a reason is looser, and the reason says why. Writes docs/benchmarks/accountant.md.

    python benchmarks/peer_cases.py [word of a family]
"""

import csv
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pages

import gaugedp as gd

HERE = Path(__file__).resolve().parent
G = gd.guarantees


class Case(NamedTuple):
    """A number that a peer's test expects."""

    family: str
    test: str
    requested: str
    kind: str
    expected: float
    tolerance: float
    reason: str


class Answer(NamedTuple):
    """What is said here, and how it compares: "holds", "looser", "below" or "cannot be expressed"."""

    number: float | None
    verdict: str


def read_cases() -> list[Case]:
    """Return the lines of the table."""
    with open(HERE / "peer_cases.tsv", encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        numbers = [(row, float(row.pop("expected")), float(row.pop("tolerance"))) for row in rows]
    return [Case(**row, expected=expected, tolerance=tolerance) for row, expected, tolerance in numbers]


# -- questions -------------------------------------------------------------------------------------


def tpr(guarantee: Any, false_positive_rate: float) -> float:
    """Return the best true-positive rate."""
    return 1 - guarantee.tradeoff(false_positive_rate)


def randomized_response(noise: float, n_answers: int, special: bool = False) -> Any:
    """Return one of `n_answers`: the truth with probability 1 − noise, else any; "special" tells a unit from none."""
    truth, lie = 1 - noise + noise / n_answers, noise / n_answers
    others = [lie] * (n_answers - 1)
    if special:
        return G.FiniteLoss([truth, *others], [1 / n_answers] * n_answers)
    return G.FiniteLoss([truth, *others], [*others, truth])


def truncated_gaussian(sigma: float, sensitivity: int, bound: int) -> Any:
    """Return discrete Gaussian noise cut at ± `bound`, added to whole numbers `sensitivity` apart."""
    weights = {k: math.exp(-(k**2) / (2 * sigma**2)) for k in range(-bound, bound + 1)}
    total = math.fsum(weights.values())
    places = range(-bound, bound + sensitivity + 1)
    laws = [[weights.get(k - shift, 0.0) / total for k in places] for shift in (sensitivity, 0)]
    return G.FiniteLoss(*laws)


WORDS = {name: getattr(G, name) for name in G.__all__} | {
    "tpr": tpr,
    "randomized_response": randomized_response,
    "truncated_gaussian": truncated_gaussian,
    "no_privacy": G.FiniteLoss([1, 0], [0, 1]),
    "inf": math.inf,
    "range": range,
}


# -- answers ---------------------------------------------------------------------------------------


def judged(case: Case) -> Answer:
    """Ask, and compare."""
    if not case.requested:
        return Answer(None, "cannot be expressed")
    try:
        number = float(eval(case.requested, dict(WORDS)))  # the questions are this repository's own
    except gd.InvalidRequest:
        return Answer(None, "cannot be expressed")
    return Answer(number, verdict(case, number))


def verdict(case: Case, number: float) -> str:
    """Compare a number with what is expected, to its tolerance and to a part in 10⁹."""
    slack = case.tolerance + 1e-9 * (abs(case.expected) if math.isfinite(case.expected) else 0.0)
    if case.kind != "lower" and number > case.expected + slack:
        return "looser"
    if case.kind != "upper" and number < case.expected - slack:
        return "below"
    return "holds"


def block(answers: list[tuple[Case, Answer]]) -> list[str]:
    """Return the block of the page."""
    verdicts = Counter(answer.verdict for _, answer in answers)
    peers = ", ".join(sorted({case.test.split(",")[0] for case, _ in answers}))
    return [
        f"Of {len(answers)} cases of {peers}, {verdicts['holds']} hold, {verdicts['looser']} are looser, "
        f"{verdicts['below']} are below, and {verdicts['cannot be expressed']} cannot be expressed.",
    ]


def print_others(answers: list[tuple[Case, Answer]]) -> None:
    """Print the cases that do not hold, with the reason."""
    for case, answer in answers:
        if answer.verdict != "holds":
            print(case.test, answer.verdict, case.reason or "not explained", sep=": ")


def main() -> None:
    """Answer all cases, or those of families with a word."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    answers = [(case, judged(case)) for case in read_cases() if word in case.family]
    lines = block(answers)
    print_others(answers)
    if word:
        print("\n".join(lines))
    else:
        pages.put("accountant", "peer_cases", lines)


if __name__ == "__main__":
    main()
