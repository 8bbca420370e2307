"""Noise of density ∝ e^{−‖z‖_K} for a body K."""

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.trial_stream import PUBLIC_SEED
from gaugedp.bodies import Body, BoxHull, Ellipsoid, LpBall, Polytope, PreparedGenerators, SchattenBall
from gaugedp.bodies.base import check_body
from gaugedp.bodies.digest import digest
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.body_noise import GROUPS, GaugeNoise
from gaugedp.samplers.combined import Alone, Combined
from gaugedp.samplers.cone_noise import ConeNoise, cone_noise
from gaugedp.samplers.continuous import exponential_weights, gammas, signs, simplex_weights, uniforms
from gaugedp.samplers.diagnostics import slowest_time
from gaugedp.samplers.direct import has_direct, uniform_direct
from gaugedp.samplers.facet_walk import Chains, facets_of, started
from gaugedp.samplers.facets import MOST_HULL_POINTS, ListedFacets
from gaugedp.samplers.known_laws import known_law
from gaugedp.samplers.near_inverse import cross_gauge
from gaugedp.samplers.second_moments import mean_square, second_moment
from gaugedp.samplers.swept_noise import swept_noise
from gaugedp.samplers.tuning import TUNED
from gaugedp.samplers.variables import LaplaceVariables

_SHIFT = 1e-6  # by which generators are moved, in coordinates of a basis, so that facets are simplices
_known: dict[str, GaugeNoise] = {}

Weights = Callable[[int, int, Entropy], np.ndarray]


class RadialNoise(GaugeNoise):
    """R·U, R ~ Gamma(r + 1) and U drawn directly on the body."""

    def __init__(self, body: Body) -> None:
        self.body, self.rank = body, body.rank
        self.is_spherical = is_ellipsoid(body)
        self.law, self.sides, self.cube_gauge = known_law(body)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        return gammas(self.rank + 1, size, rng)[:, None] * self.uniform(size, rng)

    def uniform(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        return uniform_direct(self.body, size, rng)

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment of the body, or None."""
        return second_moment(self.body)

    @property
    def squares(self) -> np.ndarray | None:
        """The diagonal, for balls without the matrix."""
        return np.full(self.rank, mean_square(self.body)) if isinstance(self.body, LpBall) else super().squares


class BoxHullNoise(RadialNoise):
    """R·U on the hull of a box and its negative, with a closed second moment."""

    def __init__(self, body: BoxHull) -> None:
        super().__init__(body)
        self._known_moment = body.second_moment
        law = self.law = swept_noise(body)
        self.sides = np.array([body.factor])
        if law is not None and self.rank == body.ambient_dim:
            self.cube_gauge = law.cube_gauge() / Fraction(body.factor)

    @property
    def second_moment(self) -> np.ndarray:
        """The second moment of the body."""
        return self._known_moment

    @property
    def squares(self) -> np.ndarray:
        """The diagonal of the second moment."""
        return np.diag(self._known_moment)


class SimplexNoise(GaugeNoise):
    """B·s for the body conv{±b_j} of the columns of B (d, r), s Laplace; b_j = unit·factor if given."""

    def __init__(self, columns: np.ndarray, unit: np.ndarray | None = None, factor: float = 1.0) -> None:
        self.columns, self.rank = columns, columns.shape[1]
        if unit is not None:
            self.law, self.sides = Combined(np.eye(len(unit)), unit, LaplaceVariables), np.array([factor])
            self.cube_gauge = cross_gauge(unit, factor)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        return self._signed(exponential_weights(size, self.rank, rng), rng)

    def uniform(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        return self._signed(simplex_weights(size, self.rank, rng), rng)

    def _signed(self, weights: np.ndarray, rng: Entropy) -> np.ndarray:
        return weights * signs(weights.size, rng).reshape(weights.shape) @ self.columns.T

    @property
    def second_moment(self) -> np.ndarray:
        """2·BBᵀ/((r + 1)(r + 2))."""
        return 2 * self.columns @ self.columns.T / ((self.rank + 1) * (self.rank + 2))


class CrossPolytopeNoise(SimplexNoise):
    """Independent Laplace variables, for the cross-polytope of `size`."""

    def __init__(self, d: int, size: float) -> None:
        self.size, self.rank = size, d
        self.law, self.sides = Alone(LaplaceVariables(d)), np.array([size])
        self.cube_gauge = d / Fraction(size)

    def _signed(self, weights: np.ndarray, rng: Entropy) -> np.ndarray:
        return weights * signs(weights.size, rng).reshape(weights.shape) * self.size

    @property
    def second_moment(self) -> np.ndarray:
        """2·size²/((d + 1)(d + 2)) on the diagonal."""
        return np.diag(self.squares)

    @property
    def squares(self) -> np.ndarray:
        """2·size²/((d + 1)(d + 2))."""
        return np.full(self.rank, 2 * self.size**2 / ((self.rank + 1) * (self.rank + 2)))


class FacetNoise(GaugeNoise):
    """B·s for a listed facet B, s independent exponentials."""

    law: ConeNoise | None

    def __init__(self, prepared_body: PreparedGenerators, factor: float) -> None:
        self.rank, self.facets = prepared_body.rank, ListedFacets(prepared_body.coordinates)
        self.law = cone_noise(prepared_body.columns, self.facets.basis, self.facets.signs)
        self.sides = np.array([factor])
        self.frame = factor * prepared_body.frame.columns
        if self.law is not None and self.rank == len(self.frame):
            self.cube_gauge = self.law.cube_gauge() / Fraction(factor)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        return self._in_cones(exponential_weights(size, self.rank, rng), rng)

    def uniform(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws."""
        return self._in_cones(simplex_weights(size, self.rank, rng), rng)

    def _in_cones(self, weights: np.ndarray, rng: Entropy) -> np.ndarray:
        points = np.empty((len(weights), len(self.frame)))
        for start in range(0, len(weights), 4096):
            part = weights[start : start + 4096]
            points[start : start + 4096] = _combined(self.facets.draw(len(part), rng), part) @ self.frame.T
        return points

    @property
    def second_moment(self) -> np.ndarray:
        """The second moment from the list of facets."""
        return self.frame @ self.facets.second_moment() @ self.frame.T


class WalkNoise(GaugeNoise):
    """B·s·f for a facet B from a random walk.

    s are exponentials with a fair sign, and B is near the distribution of the cones' volumes. The walk is on
    conv{±w′_j}: generators, in coordinates of the prepared basis, moved by at most _SHIFT each, so that facets are
    simplices. With η = r·_SHIFT, ‖w_j‖_{K′} ≤ 1 + η/(1 − η): so K lies in f·K′, f = `stretch`.
    """

    walks = True

    def __init__(self, prepared_body: PreparedGenerators, factor: float) -> None:
        self.rank = prepared_body.rank
        self.frame = factor * prepared_body.frame.columns
        shape = prepared_body.coordinates.shape
        shift = uniforms(prepared_body.coordinates.size, research_rng(PUBLIC_SEED)).reshape(shape)
        self.columns = np.ascontiguousarray(prepared_body.coordinates + _SHIFT * (2 * shift - 1))
        self.stretch = 1 + 2 * self.rank * _SHIFT  # covers the error of the coordinates too

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return correlated draws from at most GROUPS walks."""
        return self._along(size, rng, exponential_weights)

    def uniform(self, size: int, rng: Entropy) -> np.ndarray:
        """Return correlated draws on K′ from at most GROUPS walks."""
        return self._along(size, rng, simplex_weights) / self.stretch

    def _longest(self) -> int:
        return max(800 * self.rank, min(30_000, 10**7 // self.columns.size))

    def _along(self, size: int, rng: Entropy, law: Weights) -> np.ndarray:
        chains = started(self.columns, min(size, GROUPS), rng)
        chains.walk(math.ceil(4 * self.autocorrelation_time), rng)
        batches: list[np.ndarray] = []
        while len(batches) * chains.count < size:
            chains.walk(max(1, int(self.autocorrelation_time / 8)), rng)
            batches.append(self._noise(chains, rng, law))
        return np.concatenate(batches)[:size]

    def steps(self, allowance: float) -> int:
        """Return the number of steps by a rule, not a proof.

        It is τ·(log(1/allowance) + (r/2)·log 2k), τ half the autocorrelation time. (2k)^r bounds the number of facets;
        a chain with relaxation time τ and that many states needs no more, if uniform (Levin and Peres 2017, theorem
        12.4).
        """
        states = self.rank / 2 * math.log(2 * self.columns.shape[1])
        # times 1.5, for the error of a measured time
        return math.ceil(1.5 * self.autocorrelation_time / 2 * (math.log(1 / allowance) + states))

    def release(self, size: int, steps: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:
        """Return the ends (size, d) of independent walks."""
        chains = started(self.columns, size, rng)
        block = max(64, 10**4 // size)
        for start in range(0, steps, block):
            chains.walk(min(block, steps - start), rng)
            progress(min(1.0, (start + block) / steps))
        for _ in range(20):  # against eigenvalues near −1
            chains.step_or_stay(rng)
        return self._noise(chains, rng, exponential_weights)

    @cached_property
    def autocorrelation_time(self) -> float:
        """The largest integrated autocorrelation time of the facets, in steps.

        It is over squares of linear functionals of sums: the noise has a fair sign, so odd functionals need not mix.
        """
        _ = self.trials
        return self._measured

    def _trials(self, rng: Entropy) -> np.ndarray:
        """Walk GROUPS chains for 4 autocorrelation times, and draw in visited cones."""
        chains, every, limit = started(self.columns, GROUPS, rng), max(1, self.rank // 2), self._longest()
        chains.walk(20 * self.rank, rng)
        visits: list[tuple[np.ndarray, np.ndarray]] = []
        sums: list[np.ndarray] = []
        self._measured, spread = math.inf, math.inf
        # 0.005: relative standard error of the mean length that trials are drawn for
        while len(visits) * every < min(4 * self._measured, limit) or (spread > 0.005 and len(visits) * every < limit):
            for _ in range(100):
                chains.walk(every, rng)
                visits.append((chains.basis.copy(), chains.signs.copy()))
                sums.append(chains.facets().sum(axis=2))
            self._measured = every * max(slowest_time(np.stack(sums)), slowest_time(np.stack(sums) @ self.frame.T))
            lengths = np.linalg.norm(np.stack(sums) @ self.frame.T, axis=2).mean(axis=0)
            spread = float(lengths.std() / lengths.mean()) / math.sqrt(GROUPS)
        if len(visits) * every < 4 * self._measured:
            raise InvalidRequest(
                f"The random walk that draws K-norm noise mixes too slowly in {self.rank} dimensions to be measured.",
                "Use Cube, LaplaceVariables or Matrix, or fewer generators.",
            )
        size = max(50, min(1000, TUNED.trial_numbers // (GROUPS * len(self.frame))))
        noise = np.empty((GROUPS, size, len(self.frame)))
        for place, index in enumerate(np.linspace(0, len(visits) - 1, size).astype(int)):
            cones = facets_of(self.columns, *visits[index])
            weights = exponential_weights(GROUPS, self.rank, rng)
            noise[:, place] = self.stretch * _combined(cones, weights) @ self.frame.T
        return noise

    def _noise(self, chains: Chains, rng: Entropy, law: Weights) -> np.ndarray:
        points = _combined(chains.facets(), law(chains.count, self.rank, rng)) @ self.frame.T
        return self.stretch * points * signs(chains.count, rng)[:, None]


def is_ellipsoid(body: Body) -> bool:
    """Return True if the body is a known ellipsoid."""
    return isinstance(body, Ellipsoid) or (isinstance(body, LpBall | SchattenBall) and body.p == 2)


def gauge_noise(body: Body) -> GaugeNoise:
    """Return cached noise for a body.

    It is direct, by independent generators, by a list of facets (r ≤ 8), or by a walk.
    """
    check_body(body)
    key = digest(body)
    if key not in _known:
        if len(_known) == 32:
            del _known[next(iter(_known))]
        _known[key] = _made(body)
    return _known[key]


def _made(body: Body) -> GaugeNoise:
    if isinstance(body, LpBall) and body.p == 1:
        return CrossPolytopeNoise(body.d, body.size)
    if isinstance(body, BoxHull) and has_direct(body):
        return BoxHullNoise(body)
    if isinstance(body, Polytope):
        return _of_polytope(body)
    if has_direct(body):
        return RadialNoise(body)
    raise InvalidRequest(f"There is no K-norm noise for {body!r}.", "Use a ball, an ellipsoid or a polytope.")


def _of_polytope(body: Polytope) -> GaugeNoise:
    basis = body.distinct
    count = basis.coordinates.shape[1]
    if basis.rank in (1, count):
        longest = float(np.abs(basis.coordinates).max())  # the basis of a line is the longest generator to 1e−6
        columns = basis.columns if basis.rank == count else None
        if columns is None and body.ambient_dim == 1:
            columns = np.abs(basis.columns).max(keepdims=True)
        return SimplexNoise(body.factor * longest * basis.frame.columns, columns, body.factor)
    if count <= MOST_HULL_POINTS.get(basis.rank, 0):
        with contextlib.suppress(InvalidRequest):  # facets that Qhull cannot distinguish are walked
            return FacetNoise(basis, body.factor)
    if basis.rank**2 * count > 10**7:  # minutes
        raise InvalidRequest(
            f"K-norm noise in {basis.rank} dimensions with {count:,} generators would take too long to draw.",
            "Use Cube, LaplaceVariables or Matrix, or fewer generators.",
        )
    return WalkNoise(basis, body.factor)


def _combined(facets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return B·s (m, r) for facets B and weights s."""
    return (facets @ weights[:, :, None])[:, :, 0]
