"""What do tables with margins gain from exact K-norm noise?

Expected error of K-norm noise by rejection and of the best other mechanism, and processor time of a draw. Prints the
table and writes docs/benchmarks/knorm.md.

    python benchmarks/flat_knorm.py
"""

import itertools
import time

import numpy as np
import pages

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms.choose import candidates
from gaugedp.queries.base import Query

DRAWS = 1000
CASES = [
    ("all pairs of 5 yes/no columns", [2] * 5, 2, (1.0, 3.0)),
    ("pairs of 3 attributes of 5 values", [5] * 3, 2, (1.0,)),
    ("tables of 3 attributes of 5 values", [5] * 3, 1, (1.0,)),
    ("tables of 10 yes/no columns", [2] * 10, 1, (1.0,)),
]


def rows(name: str, sizes: list[int], width: int, rates: tuple[float, ...]) -> list[str]:
    domain = gd.Domain.of(**{chr(65 + i): [f"v{j}" for j in range(n)] for i, n in enumerate(sizes)})
    text = "; ".join("*".join(names) for names in itertools.combinations(domain.attributes, width))
    query, unit = gd.query(domain, text), gd.PrivacyUnit()
    return [row(f"{name}, ε = {rate:g}", query, unit, rate) for rate in rates]


def row(name: str, query: Query, unit: gd.PrivacyUnit, epsilon: float) -> str:
    plan = gd.plan(query, unit, epsilon=epsilon)
    found = candidates(query.sensitivity(unit), gd.PureDP(epsilon))
    before = min(mechanism.error() for mechanism in found if mechanism.name != "KNorm")
    mechanism = plan.mechanism
    if mechanism.name != "KNorm":
        return f"| {name} | {before:.4g} | not offered | | |"
    draws = mechanism.releasable(DRAWS, research_rng(1))
    start = time.process_time()
    for seed in range(50):
        mechanism.releasable(1, research_rng(seed))
    single = (time.process_time() - start) / 50 * 1000
    lengths = np.linalg.norm(draws, axis=1)
    drawn = f"{lengths.mean():.4g} ± {lengths.std() / DRAWS**0.5:.1g}"
    return f"| {name} | {before:.4g} | {mechanism.error():.4g} | {drawn} | {single:.2g} |"


def main() -> None:
    heads = "query | best other | K-norm, stated | K-norm, drawn | ms a draw"
    table = [line for case in CASES for line in rows(*case)]
    pages.put("knorm", "flat", [f"| {heads} |", "|---|---:|---:|---:|---:|", *table])


if __name__ == "__main__":
    main()
