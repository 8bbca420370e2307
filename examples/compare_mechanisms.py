"""Which noise fits a workload of one's own, and how near is it to the best possible?

Six questions about eight age groups, and the counts of all pairs of neighbouring groups: answers that overlap.

    python examples/compare_mechanisms.py --out compare.svg

Draws expected errors and the lower bound over ε, and prints the plan at ε = 0.5. No data is read.
"""

import argparse
from pathlib import Path

import numpy as np

import gaugedp as gd

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def workload() -> gd.queries.Workload:
    """All, the young, the old, the young less the old, adults, and the number in units of ten years; neighbours."""
    domain, group = gd.Domain.of(age=gd.bins(0, 80, width=10)), np.arange(8)
    young, old = group < 2, group >= 6
    wanted = [np.ones(8), young, old, 1 * young - 1 * old, group >= 2, group]
    neighbours = np.abs(np.subtract.outer(group, group)) <= 1
    return gd.workload(np.vstack([*wanted, neighbours]).astype(int), domain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where to write the figure, as SVG")
    given = parser.parse_args()
    query, unit = workload(), gd.PrivacyUnit()
    print(gd.plan(query, unit, epsilon=0.5))
    gd.compare(query, unit, EPSILONS).save_svg(given.out)


if __name__ == "__main__":
    main()
