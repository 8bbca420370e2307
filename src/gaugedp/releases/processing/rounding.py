"""Counts rounded to multiples of a base that still add up."""

import re
from collections.abc import Sequence

import numpy as np

from gaugedp.queries.linear import Workload
from gaugedp.releases.processing.counts import counts_of_cells

MOST_CELLS = 4096  # of the joint table, for linear programs of seconds; a minute where margins form cycles
_FORM = re.compile(r"rounded(?: to ([1-9][0-9]{0,8}))?")


def base_of(steps: Sequence[str]) -> int:
    """Return the base of rounding, or 0 if nothing rounds.

    It is 1 for rounding to integers.
    """
    forms = [form for step in steps if (form := _FORM.fullmatch(step))]
    return int(forms[0][1] or 1) if forms else 0


def can_round(query: Workload) -> bool:
    """Return True if the counts of the query can be rounded together."""
    return all(
        counts is not None and counts.operator.n_generators <= MOST_CELLS for counts, _ in counts_of_cells(query)
    )


def rounded_together(query: Workload, values: np.ndarray, base: int, non_negative: bool) -> np.ndarray:
    """Return `values` with counts, and sums of weights, that are multiples of `base` and add up.

    They are those of one joint table of multiples of `base`, so that they add up exactly, and have a small sum of
    distances from `values`. Other answers stay as they are.
    """
    rounded = values.copy()
    for counts, places in counts_of_cells(query):
        if counts is not None:
            operator = counts.operator
            map_ = np.stack([operator.column(cell) for cell in range(operator.n_generators)], axis=1)
            aims = values[places] / base
            table = _nearest(map_, aims, 0.0 if non_negative and aims.min() >= 0 else -np.inf)
            rounded[places] = base * (map_ @ table)
    return rounded


def _nearest(map_: np.ndarray, aims: np.ndarray, least: float) -> np.ndarray:
    """Return an integer table x ≥ `least` with map·x near to the consistent `aims`.

    Each count lies between the integers around its aim, and the sum of the distances is linear there. A vertex of this
    linear program is integral for tables of two attributes with margins and for trees. Cells of other vertices are
    rounded, and their sums may be more than 1 away from their aims.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    near = 1e-7 + 1e-11 * float(np.abs(aims).max())  # linear program, and consistent counts
    down, up = np.floor(aims + near), np.ceil(aims - near)
    costs = (1 - 2 * np.clip(aims - down, 0, 1)) @ map_
    sparse = csr_matrix(map_)
    done = linprog(
        costs,
        A_ub=vstack([sparse, -sparse]),
        b_ub=np.concatenate([up, -down]) + near,
        bounds=(least, None),
        method="highs-ds",
    )
    return np.asarray(np.rint(done.x))
