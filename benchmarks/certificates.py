"""How close to the least possible error are plans for ordinary queries, under each kind of guarantee?

For each query and guarantee the certified ratio: root mean squared error over a lower bound for all mechanisms with
that guarantee, on tables of any size, with rows added or removed. Writes docs/benchmarks/queries.md. Needs a minute.

    python benchmarks/certificates.py
"""

import statistics

import pages

import gaugedp as gd

GUARANTEES: dict[str, dict[str, float]] = {
    "ε 0.1": {"epsilon": 0.1}, "ε 1": {"epsilon": 1.0}, "ε 3": {"epsilon": 3.0}, "ρ 0.01": {"rho": 0.01},
    "ρ 0.1": {"rho": 0.1}, "ρ 0.5": {"rho": 0.5}, "μ 0.5": {"mu": 0.5}, "(1, 1e-6)": {"epsilon": 1.0, "delta": 1e-6},
}  # fmt: skip
SIZES = {"A": 2, "E": 2, "F": 2, "G": 2, "H": 2, "D": 3, "B": 5, "I": 5, "J": 5, "C": 12}
DOMAIN = gd.Domain.of(
    **{name: [str(i) for i in range(size)] for name, size in SIZES.items()},
    P=gd.integers(0, 99), Q=gd.integers(0, 999), X=gd.bounded(0, 100), Y=gd.bounded(0, 1000, missing=0),
)  # fmt: skip
PAIRS = "A*E; A*F; A*G; A*H; E*F; E*G; E*H; F*G; F*H; G*H"
QUERIES = {
    "12 cells": "C", "2, 5 and 12 cells": "A;B;C", "10 cells of two attributes": "A*B",
    "all pairs of five yes/no columns": PAIRS, "all pairs of three attributes of 5": "B*I; B*J; I*J",
    "30 cells of three attributes": "A*D*B", "a table of 120 cells with margins": "A*B*C; A; B; C",
    "a table and a margin": "B; B*I", "100 prefix sums": "prefix(P)", "100 ranges": "ranges(P)",
    "1,000 prefix sums": "prefix(Q)", "a margin and 100 prefix sums": "A; prefix(P)", "sums by 12 cells": "sum(X) by C",
    "means by 5 cells": "mean(X) by B", "two sums": "sum(X); sum(Y)", "shares": "share(A) by B",
}  # fmt: skip


def main() -> None:
    """Write the table."""
    columns: dict[str, list[float]] = {name: [] for name in GUARANTEES}
    others = [name for name in GUARANTEES if name[0] not in "ρμ"]
    rows, best = [], []
    for name, text in QUERIES.items():
        query = gd.query(DOMAIN, text)
        for kind, budget in GUARANTEES.items():
            columns[kind].append(gd.plan(query, gd.PrivacyUnit(), **budget).certified_ratio)
        ratios = [columns[kind][-1] for kind in others]
        cells = [f"{ratio:.4f}" if ratio < 1.1 else f"{ratio:.2f}" for ratio in ratios]
        if max(ratios) < 1.0002:
            best.append(name)
        else:
            rows.append(f"| {name} | {' | '.join(cells)} |")
    for name, summary in (("**largest of 16**", max), ("**median of 16**", statistics.median)):
        rows.append(f"| {name} | {' | '.join(f'{summary(columns[kind]):.3g}' for kind in others)} |")
    head = f"| query | {' | '.join(others)} |"
    largest = ", ".join(f"{max(column):.4f} ({name})" for name, column in columns.items() if name not in others)
    first = f"For {', '.join(best[:-1])} and {best[-1]}, the ratios in these columns are at most 1.0001."
    last = f"The largest ratios under ρ and μ are {largest}."
    pages.put("queries", "certificates", [head, "|---|" + "---:|" * len(others), *rows, "", first, last])


if __name__ == "__main__":
    main()
