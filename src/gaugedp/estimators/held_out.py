"""Private score of a model on held-out rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.guarantees import PureDP
from gaugedp.mechanisms import Laplace
from gaugedp.mechanisms.base import Prepared

_HELD_OUT = 205  # of 1,024 equally likely numbers: about one row in five
PIECES = 2**16  # per unit of loss: losses are rounded to these, so that sums are exact in any order
LEVEL = 0.95  # of intervals in the description of a fit


def held_out(n_rows: int, rng: Entropy) -> np.ndarray:
    """Return a random mask (n,) of held-out rows, independent of their values."""
    numbers = rng.words(n_rows) >> np.uint64(54)
    return numbers < _HELD_OUT


@dataclass(frozen=True)
class Score:
    """The mean of losses over rows, at most `group` per unit.

    A row of loss l in [0, 1] adds (l, 1 − l), in integer multiples of 1/PIECES, to a pair of sums. One row added or
    removed changes the pair by 1 in ℓ₁. Discrete Laplace noise makes the pair ε-DP for a unit; the score is
    post-processing.
    """

    epsilon: float
    group: int

    def __post_init__(self) -> None:
        positive(score=self.epsilon)

    @property
    def guarantee(self) -> PureDP:
        """The guarantee for a unit."""
        return PureDP(float(self.epsilon))

    def prepare(self, rng: Entropy) -> "PreparedScore":
        """Draw the noise, before the data is read."""
        mechanism = Laplace.calibrate(LpBall(2, 1, self.group), self.guarantee)
        step = float(mechanism.lattice_step)
        width = float(mechanism.half_widths(LEVEL, simultaneous=True)[0]) + step
        return PreparedScore(mechanism.prepare(rng), step, width)


@dataclass(frozen=True)
class PreparedScore:
    """Noise on a lattice, with `width`, its simultaneous half-width for both sums."""

    noise: Prepared
    step: float
    width: float

    def mean(self, losses: np.ndarray) -> tuple[float, float, float]:
        """Return the noisy mean, and an interval for these rows' true mean at `LEVEL`."""
        lost = np.rint(losses * PIECES).astype(np.int64)
        sums = np.array([lost.sum(), (PIECES - lost).sum()]) / PIECES
        part, complement = (self.noise(np.rint(sums / self.step).astype(np.int64)) * self.step).tolist()
        low = _ratio(part - self.width, complement + self.width, 0.0)
        return _ratio(part, complement, 0.5), low, _ratio(part + self.width, complement - self.width, 1.0)


def _ratio(part: float, complement: float, unknown: float) -> float:
    part, complement = max(part, 0.0), max(complement, 0.0)
    return part / (part + complement) if part + complement > 0 else unknown


def losses(design: TableDesign, outputs: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the losses (n,) for scores (n, k).

    For classes a loss is 1 if the predicted one is wrong: the first of the largest scores, or with one score the second
    class if it is above 0. For numbers it is |prediction − target| over the width of the bounds, the prediction
    clipped.
    """
    if design.by_class:
        predicted = outputs[:, 0] > 0 if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        return (predicted != target).astype(float)
    low, high = design.bounds
    gap = np.abs(np.clip(outputs[:, 0], low, high) - target) / (high - low)
    lost: np.ndarray = np.fmin(gap, 1.0)  # also for NaN
    return lost


def scores(rows: np.ndarray, coefficients: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Return intercepts + coefficients·row, shape (n, k).

    Columns are added one by one, so the scores of a row do not depend on the number of rows.
    """
    outputs = np.tile(intercepts, (len(rows), 1))
    for column, weights in zip(rows.T, coefficients.T, strict=True):
        outputs += np.multiply.outer(column, weights)
    return outputs


def describe(name: str, value: tuple[float, float, float], guarantee: PureDP) -> dict[str, Any]:
    """Return the score as a dict for JSON."""
    mean, low, high = value
    return {
        "name": name,
        "value": mean,
        "lower": low,
        "upper": high,
        "level": LEVEL,
        "speaks_of": "the rows held out of this fit; the interval is of the noise",
        "held_out": _HELD_OUT / 2**10,
        "guarantee": guarantee.to_dict(),
    }
