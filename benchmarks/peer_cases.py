"""What the tests of peers expect, beside what is said here: benchmarks/peer_cases.tsv, a line a case.

Each line names the family, the peer and its test, our question, the number that the peer expects with its tolerance,
and its kind: "exact" and "approximate" are expected from both sides, "upper" is a bound that ours may not exceed,
"lower" one that ours may not go below. A line without a question cannot be said here, and gives the reason; one with
a question and a reason is looser, and the reason says why. Writes docs/benchmarks/peer_cases.md.

    python benchmarks/peer_cases.py [word of a family]
"""

import csv
import math
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import gaugedp as gd

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks" / "peer_cases.md"
G = gd.guarantees


class Case(NamedTuple):
    """A number that a peer's test expects."""

    family: str
    test: str
    asked: str
    kind: str
    expected: float
    tolerance: float
    reason: str


class Answer(NamedTuple):
    """What is said here, and how it compares: "holds", "looser", "below" or "cannot be said"."""

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
    if not case.asked:
        return Answer(None, "cannot be said")
    try:
        number = float(eval(case.asked, dict(WORDS)))  # the questions are this repository's own
    except gd.InvalidRequest:
        return Answer(None, "cannot be said")
    return Answer(number, verdict(case, number))


def verdict(case: Case, number: float) -> str:
    """Compare a number with what is expected, to its tolerance and to a part in 10⁹."""
    slack = case.tolerance + 1e-9 * (abs(case.expected) if math.isfinite(case.expected) else 0.0)
    if case.kind != "lower" and number > case.expected + slack:
        return "looser"
    if case.kind != "upper" and number < case.expected - slack:
        return "below"
    return "holds"


def page(answers: list[tuple[Case, Answer]], seconds: float) -> str:
    """Return the page."""
    families = sorted({case.family for case, _ in answers})
    rows, total = [], Counter[str]()
    for family in families:
        counts = Counter(answer.verdict for case, answer in answers if case.family == family)
        total += counts
        rows.append(row(family, counts))
    others = [(case, answer) for case, answer in answers if answer.verdict != "holds"]
    told = [
        f"| {case.family} | {case.test} | `{case.asked or '–'}` | {shown(answer.number)} | {case.expected:.9g} "
        f"| {answer.verdict} | {case.reason or 'not explained'} |"
        for case, answer in others
    ]
    return TEXT.format(
        rows="\n".join([*rows, row("**all**", total)]),
        told="\n".join(told),
        n=len(answers),
        seconds=seconds,
        peers=", ".join(sorted({case.test.split(",")[0] for case, _ in answers})),
    )


def row(family: str, counts: "Counter[str]") -> str:
    """Return a line of the table."""
    said = counts.total() - counts["cannot be said"]
    cells = (counts.total(), said, counts["holds"], counts["looser"], counts["below"], counts["cannot be said"])
    return f"| {family} | {' | '.join(map(str, cells))} |"


def shown(number: float | None) -> str:
    """Return a number in words."""
    return "–" if number is None else f"{number:.9g}"


TEXT = """# What peers' own tests ask

The tests of {peers} expect numbers. Each of {n} was translated into a question to this library
(`benchmarks/peer_cases.tsv`: family, test, question, kind, number, tolerance). A number that a peer expects exactly, or
to a stated tolerance, holds where ours is as near from both sides; an upper bound where ours is not above it, a lower
one where ours is not below. Laws of losses on a lattice of span Δ are asked as δ at the ε of the lattice, where lines
between points meet the profile itself. Of a peer's two directions, the one that tells more is asked, as guarantees are
about both.

| family | cases | can be said | hold | looser | below | cannot be said |
|---|---:|---:|---:|---:|---:|---:|
{rows}

What does not hold, with its reason:

| family | test | question | ours | expected | verdict | reason |
|---|---|---|---:|---:|---|---|
{told}

Written by `python benchmarks/peer_cases.py` in {seconds:.0f} s.
"""


def main() -> None:
    """Answer all cases, or those of families with a word."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    start = time.process_time()
    answers = [(case, judged(case)) for case in read_cases() if word in case.family]
    text = page(answers, time.process_time() - start)
    print(text)
    if not word:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
