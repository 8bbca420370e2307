"""Gini coefficients and Lorenz curves, from counts of cells.

Rows have the middle of their cell as value. They are computed from a release. docs/theory/derived.md
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from gaugedp.statistics.base import Wording
from gaugedp.statistics.forms import FormQuotient, Highest, Quadratic
from gaugedp.statistics.quantile import WithEnds


class Gini(WithEnds, kind="gini"):
    """Gini coefficients: ½·Σ c_i·c_j·|v_i − v_j|/(n·Σ c·v), of counts c and values v."""

    takes_shares: ClassVar[bool] = False  # of the rows, in the text of a query

    wording = Wording("Gini coefficient of {}", from_zero=True)

    @classmethod
    def quotients(cls, values: np.ndarray, shares: Sequence[float] = ()) -> list[FormQuotient]:  # noqa: ARG003
        """Return the quotients that are a group's answers."""
        apart = np.abs(values[:, None] - values)
        total = values[:, None] + np.zeros(len(values))
        return [FormQuotient(Quadratic(apart), Quadratic(total + total.T), 0.0, 1.0, values.min())]


class Lorenz(Gini, kind="lorenz"):
    """Points of Lorenz curves: shares of the total that the lowest rows hold.

    If cell k holds the last of a share of rows, their total is Σ c_i·([i < k]·(v_i − v_k) + share·v_k). The expression
    is no larger for any other k: this is the dual of a linear programme.
    """

    takes_shares = True
    wording = Wording("Percentage of the total of {} that the lowest {rows} have", scale=100, sign="%", from_zero=True)

    @classmethod
    def quotients(cls, values: np.ndarray, shares: Sequence[float] = ()) -> list[FormQuotient]:
        """Return a quotient for each share."""
        below, bottom = np.tri(len(values), k=-1) * (values - values[:, None]), Highest(values[None])
        tops = {share: Highest(below + share * values[:, None]) for share in shares}
        return [FormQuotient(tops[share], bottom, 0.0, share, values.min()) for share in shares]
