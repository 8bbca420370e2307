"""What does the lossless reading of Rényi bounds save, against the usual conversion?

Prints ε at a δ, and probabilities of an event, for a few bounds; writes docs/benchmarks/accountant.md.

    python benchmarks/renyi_region.py
"""

import math

import pages

import gaugedp as gd
from gaugedp.accountant.convert import renyi_to_epsilon
from gaugedp.accountant.total import Total

CASES: list[tuple[str, gd.guarantees.Guarantee, float]] = [
    ("(2, 0.1)", gd.RenyiDP([2], [0.1]), 1e-3),
    ("(2, 0.01)", gd.RenyiDP([2], [0.01]), 1e-6),
    ("(8, 0.5)", gd.RenyiDP([8], [0.5]), 1e-6),
    ("(1.5, 0.04) and (8, 0.7)", gd.RenyiDP([1.5, 8], [0.04, 0.7]), 1e-2),
    ("ρ = 0.05", gd.ZCDP(0.05), 1e-6),
    ("ρ = 0.05", gd.ZCDP(0.05), 1e-2),
    ("100 times (2, 0.001) and (4, 0.002)", 100 * gd.RenyiDP([2, 4], [0.001, 0.002]), 1e-5),
]


def main() -> None:
    """Write the page."""
    lines = [line(*case) for case in CASES]
    low, high = gd.guarantees.probability_range(gd.RenyiDP([2], [0.1]), 0.1)
    lines = [
        "| bounds | δ | proposition 12 | region | saved |",
        "|---|---:|---:|---:|---:|",
        *lines,
        "",
        f"For an event with Q(E) = 0.1, the bound (2, 0.1) leaves P(E) between {low:.3f} and {high:.3f}; "
        f"Hölder's inequality gives at most {math.sqrt(math.exp(0.1) * 0.1):.3f}.",
    ]
    pages.put("accountant", "renyi_region", lines)


def line(words: str, guarantee: gd.guarantees.Guarantee, delta: float) -> str:
    """Return one line of the table."""
    total = Total(guarantee.components(), curves=True)
    usual = renyi_to_epsilon(total.log_moment_up, delta, total.knots).value
    result = float(guarantee.epsilon(delta))
    return f"| {words} | {delta:g} | {usual:.4f} | {result:.4f} | {100 * (1 - result / usual):.0f} % |"


if __name__ == "__main__":
    main()
