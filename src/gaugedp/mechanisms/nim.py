"""The nested (non-isotropic) K-norm mechanism, with a share of ε per level."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.rounding import NORMS, UNIT
from gaugedp._internal.validate import whole
from gaugedp.bodies import Body, LinearImage, LpBall, Polytope, project
from gaugedp.bodies.base import check_body
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.body_limits import body_noise, is_long, why_no_body_noise, why_not_long
from gaugedp.mechanisms.norm_noise import NormNoise, is_own_scale_proved, lattice_of, pure_or_approx
from gaugedp.samplers.body_noise import GaugeNoise
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.known_laws import Known
from gaugedp.samplers.mapped import Mapped, SummedVariables
from gaugedp.samplers.uniform import moments

_SPLIT_ROUNDING = 1 + 1e-6  # covers the rounding of the splits at such lengths
_UP = 1 + NORMS  # covers the rounding of the bounds themselves


@dataclass(frozen=True, eq=False)
class ProjectedNoise:
    """K-norm noise of the body projected on a basis.

    It has all of ε. The columns of `short` (k, ·) span the final part, those of `long` (k, ·) what the next level
    answers again; `short_square` and `long_square` are the mean squares of the noise on both. `basis` has shape (d, k).
    """

    basis: np.ndarray
    noise: GaugeNoise
    short: np.ndarray
    long: np.ndarray
    short_square: float
    long_square: float

    def kept(self, weight: float) -> np.ndarray:
        """Return the level's map (d, k), for the next level's weight."""
        return np.asarray(self.basis @ (self.short @ self.short.T + (1 - weight) * self.long @ self.long.T))


def nested_law(
    body: Body, levels: Sequence[ProjectedNoise], maps: Sequence[np.ndarray], shares: np.ndarray, most: float
) -> Known:
    """Return the distribution of Σ_l C_l·η_l, if it is proved.

    η_l is the levels' noise, C_l = `maps`[l] (d, k). Then each point z of the body is Σ_l C_l·u_l with Σ_l‖u_l‖_{S_l} ≤
    `most`, S_l the body of the level's noise (docs/theory/nim.md, theorem 2).

    Let θ be `_missed`, g_l ≥ Σ‖e_i‖_{S_l}, so that ‖y‖_{S_l} ≤ g_l·‖y‖_∞, and D = `_size` bound the lengths of the
    generators. Floats change Q_lᵀv by less than (2d + 8)·2^−53·D per coordinate, differences included, and ‖z‖₂ ≤ 2D.
    Hence ‖Q_lᵀ(I − E)⁻¹z‖_{S_l} ≤ 1 + g_l·D·((2d + 8)·2^−53 + 2θ/(1 − θ)). A cube of rounding adds Σ_l
    share_l·g_l·√d/(1 − θ), as ‖(I − E)⁻ᵀq‖₁ ≤ √d·‖q‖₂/(1 − θ) for a column q of Q_l.
    """
    size, d = _size(body), body.ambient_dim
    gauges = [gauge for level in levels if (gauge := level.noise.cube_gauge) is not None]
    laws = [law for level in levels if (law := level.noise.law) is not None]
    if size is None or len(gauges) + len(laws) < 2 * len(levels) or levels[0].basis.shape[1] < d:
        return Known()
    scaled = [matrix * level.noise.sides for matrix, level in zip(maps, levels, strict=True)]
    missed = _missed(levels, scaled, shares)
    if not missed < 1e-3:
        return Known()
    off = Fraction(((2 * d + 8) * UNIT + 2 * missed / (1 - missed)) * size * _UP)
    cube = sum((Fraction(float(share)) * gauge for share, gauge in zip(shares, gauges, strict=True)), Fraction(0))
    if not sum(map(Fraction, shares.tolist())) + off * cube <= Fraction(most):
        return Known()
    law = SummedVariables(tuple(Mapped(matrix, part) for matrix, part in zip(scaled, laws, strict=True)))
    return Known(law, cube_gauge=cube * Fraction(math.sqrt(d) * (1 + 2e-3)))


def _missed(levels: Sequence[ProjectedNoise], scaled: Sequence[np.ndarray], shares: np.ndarray) -> float:
    """Return an upper bound of ‖I − Σ_l share_l·C_l·Q_lᵀ‖_F, C_l the maps over the noise's sides."""
    d = len(levels[0].basis)
    total, sizes = -np.eye(d), np.eye(d)
    for level, matrix, share in zip(levels, scaled, shares, strict=True):
        answers = (level.basis * (share / level.noise.sides)).T
        total += matrix @ answers
        sizes += np.abs(matrix) @ np.abs(answers)
    return float(np.linalg.norm(np.abs(total) + (d + 4 * len(levels) + 8) * UNIT * sizes)) * _UP


def _size(body: Body) -> float | None:
    """Return a size s: coordinates of shadows err by less than (2d + 8)·2^−53·s."""
    match body:
        case Polytope():
            return float(body.factor * np.linalg.norm(body.columns(), axis=0).max()) * _UP
        case LinearImage(body=LpBall(size=size), matrix=matrix):
            return float(size * np.linalg.norm(np.abs(matrix).sum(axis=1))) * _UP
    return None


class NestedNoise(GaugeNoise):
    """The sum of the levels' noise, with mixed answers.

    On the directions of a later level, its answer and the earlier one are mixed. `shares` of ε belong to the levels and
    sum to 1. With mean squares a and b, the later answer has the weight a/(a + b), which minimises the error among
    weights that sum to 1 (docs/theory/nim.md).
    """

    def __init__(self, levels: list[ProjectedNoise], shares: np.ndarray) -> None:
        self.levels, self.shares = levels, shares
        self.rank, self.walks = levels[0].basis.shape[1], any(level.noise.walks for level in levels)
        self.square, self.weights = _mixed(levels, shares)

    @property
    def maps(self) -> list[np.ndarray]:
        """The maps (d, k) from each level to the answers."""
        before = np.cumprod([1.0, *self.weights[:-1]])
        return [
            level.kept(weight) * (factor / share)
            for level, weight, factor, share in zip(self.levels, self.weights, before, self.shares, strict=True)
        ]

    def proved(self, body: Body) -> "NestedNoise":
        """Set the distribution, if it is proved for this body."""
        self.law, self.sides, self.cube_gauge = nested_law(body, self.levels, self.maps, self.shares, _SPLIT_ROUNDING)
        return self

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws, as exact as those of the levels."""
        return self._joined([level.noise.draw(size, rng) for level in self.levels])

    def uniform(self, size: int, rng: Entropy) -> np.ndarray:  # noqa: ARG002
        """Refuse: a sum of noises has no body."""
        raise InvalidRequest(
            "NIM adds noises of several bodies, so it has no single body to draw uniform points from.",
            "Pass a body to samplers.uniform instead.",
        )

    def steps(self, allowance: float) -> int:
        """Return the largest number of steps of a level."""
        return max(level.noise.steps(allowance / len(self.levels)) for level in self.levels)

    def release(self, size: int, steps: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:
        """Return independent draws, with `steps` steps for every level."""
        return self._joined([level.noise.release(size, steps, rng, progress) for level in self.levels])

    def _trials(self, rng: Entropy) -> np.ndarray:  # noqa: ARG002
        trials = [level.noise.trials for level in self.levels]
        size = min(draws.shape[1] for draws in trials)
        joined = self._joined([_shuffled(draws[:, :size], index) for index, draws in enumerate(trials)])
        return joined.reshape(trials[0].shape[0], size, -1)

    def _joined(self, noises: list[np.ndarray]) -> np.ndarray:
        return np.asarray(sum(noise @ matrix.T for noise, matrix in zip(noises, self.maps, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class NIM(NormNoise):
    """Noise that is chosen separately for large and small changes.

    Use it under pure differential privacy if one unit can change some combinations of answers much more than others.
    The set of possible changes, the sensitivity body, is then long in some directions and short in others. Noise with
    the shape of the whole body (`KNorm`) is larger than necessary in the long directions.

    The nested K-norm mechanism works on several *levels*. Each level adds noise with the shape of its body, and then
    projects the body onto the half of the directions in which it is longest, for the next level. The noisy answers of
    all levels are combined at the end.

    Notes
    -----
    Theorem. The levels together are ε-DP if their shares of ε sum to ε and the directions do not depend on data, and so
    is any function of their answers (Hardt and Talwar 2010; docs/theory/nim.md). The directions are eigenvectors of
    estimated second moments. An error of these estimates costs accuracy, but no privacy.

    Examples
    --------
    One unit can change two of twelve answers a hundred times more than the others. The expected length of the noise is
    314, compared with 444 for `KNorm`:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> body = gd.bodies.image(gd.bodies.LpBall(12, 2), np.diag([100] * 2 + [1] * 10))
    >>> [round(noise.calibrate(body, gd.PureDP(1)).error()) for noise in (gd.NIM, gd.KNorm)]
    [314, 444]
    """

    name: ClassVar[str] = "NIM"
    plan_order: ClassVar[int] = 4

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, depth: int | None = None) -> "NIM":
        """Return the mechanism for PureDP(ε) or ApproxDP(ε, δ).

        Parameters
        ----------
        body : Body
            The sensitivity body. It is divided into levels if it is a polytope, an ellipsoid, or an ℓ_p ball whose
            coordinates may have different units (an image of a ball under a diagonal matrix). For other bodies there is
            one level, and the mechanism is the same as `KNorm`.
        guarantee : PureDP or ApproxDP
            The guarantee of the release. If the body needs a random walk, PureDP(ε) becomes ApproxDP(ε, 1e−9).
        depth : int, optional
            The number of levels. By default it is the number with the smallest error.
        """
        check_body(body)
        if depth is not None:
            whole(minimum=1, depth=depth)
        levels = _levels(body, depth)
        cuts = range(1, len(levels) + 1) if depth is None else [len(levels)]
        nested_noise = min((_nested(levels[:cut]) for cut in cuts), key=lambda nested: nested.square)
        is_split = len(nested_noise.levels) > 1
        noise: GaugeNoise = nested_noise.proved(body) if is_split else gauge_noise(body)  # one level: as KNorm's
        epsilon, satisfied = pure_or_approx(guarantee, noise.walks)
        step, scale_factor = lattice_of(body, body, _SPLIT_ROUNDING if is_split else 1.0, noise.cube_gauge)
        return cls(body, satisfied, body, noise, epsilon, scale_factor, step)

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[NIM]":
        """Yield one for long bodies with fast draws; see `body_noise`."""
        if is_long(body, weights):
            yield from body_noise(cls.calibrate, body, guarantee, weights)

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:
        """Return the reason why there is no candidate."""
        return why_not_long(body, weights) or why_no_body_noise(body, guarantee)

    @property
    def _is_scale_proved(self) -> bool:
        return is_own_scale_proved(self.body, self.noise)

    @property
    def depth(self) -> int:
        """The number of levels."""
        return len(self.noise.levels) if isinstance(self.noise, NestedNoise) else 1

    def describe(self) -> str:
        """Return the levels, their shares and the cost of walks."""
        shares = (
            ", ".join(f"{share:.3g}" for share in self.noise.shares) if isinstance(self.noise, NestedNoise) else "1"
        )
        walk = f", by walks, {self.cost_of_walk}" if self.noise.walks else ""
        return f"K-norm noise on {self.depth} nested spaces, shares {shares}, rate {self.epsilon:.6g}{walk}"


def _levels(body: Body, depth: int | None) -> list[ProjectedNoise]:
    """Return at most `depth` levels of dimensions r, ⌊r/2⌋, …, 1."""
    basis, levels = body.span, list[ProjectedNoise]()
    while basis.shape[1] and (depth is None or len(levels) < depth):
        part = project(body, basis)
        rank = basis.shape[1]
        try:
            second = moments(part).second_moment * (rank + 1) * (rank + 2)
        except InvalidRequest:  # no sampler, or a walk that mixes too slowly: use the levels before it
            if depth is None and levels:
                break
            raise
        values, vectors = np.linalg.eigh(second)
        short, long = rank - rank // 2, rank // 2
        sides = float(values[:short].sum()), float(values[short:].sum())
        levels.append(ProjectedNoise(basis, gauge_noise(part), vectors[:, :short], vectors[:, short:], *sides))
        if not values[0] > 1e-12 * values[-1]:  # a million times in length
            raise InvalidRequest(
                "The body is so long and thin that the noise of NIM would be imprecise.", "Use KNorm or EllipsoidNoise."
            )
        basis = basis @ vectors[:, short:] if long else np.zeros((body.ambient_dim, 0))
    return levels


def _nested(levels: list[ProjectedNoise]) -> NestedNoise:
    squares = [level.short_square for level in levels[:-1]]
    squares.append(levels[-1].short_square + levels[-1].long_square)
    shares = np.cbrt(np.maximum(squares, 1e-300))
    return NestedNoise(levels, shares / shares.sum())


def _mixed(levels: list[ProjectedNoise], shares: np.ndarray) -> tuple[float, list[float]]:
    weights = [0.0]
    square = (levels[-1].short_square + levels[-1].long_square) / shares[-1] ** 2
    for level, share in zip(levels[-2::-1], shares[-2::-1], strict=True):
        level_square = level.long_square / share**2
        weights.append(level_square / (level_square + square))
        square = level.short_square / share**2 + level_square * square / (level_square + square)
    return float(square), weights[::-1]


def _shuffled(draws: np.ndarray, index: int) -> np.ndarray:
    """Rotate the groups, so that equal draws are not added up."""
    return np.roll(draws, index, axis=0).reshape(-1, draws.shape[2])
