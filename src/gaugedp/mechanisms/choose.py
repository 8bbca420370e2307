"""Which mechanisms can answer, and which of them errs least."""

import contextlib
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

import numpy as np
import scipy

from gaugedp._numbers import readable
from gaugedp.bodies.base import Body
from gaugedp.bodies.polytope import Polytope
from gaugedp.bodies.prepare import prepared
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.zcdp import ZCDP
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.cube import Cube
from gaugedp.mechanisms.ellipsoid import EllipsoidNoise
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.mechanisms.identity import MOST_CELLS, Identity
from gaugedp.mechanisms.knorm import KNorm
from gaugedp.mechanisms.laplace import Laplace
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.mechanisms.nim import NIM
from gaugedp.samplers.discrete import MAX_SCALE

M = TypeVar("M", bound=Mechanism)

_MOST_ROWS = 2000  # answers for which trial draws of shaped noise take a second
_FEW_POINTS = {2: 1000, 3: 1000, 4: 500, 5: 200, 6: 120, 7: 80, 8: 45}  # by rank: facets are listed in a second
_MOST_COLUMNS, _MOST_WALK = 5000, 10**6  # generators, and rank² times generators: a walk takes seconds

_LONG = 100
_TOO_LARGE = "its noise would not fit 64-bit numbers"


def candidates(body: Body, asked: Guarantee, weights: np.ndarray | None = None) -> Iterator[Mechanism]:
    """Yield every mechanism that keeps the guarantee `asked`, for a body and relative widths of the noise."""
    pure = pure_within(asked)
    yield Laplace.calibrate(body, pure, weights)
    if _has_table_of_its_own(body, pure):
        yield Identity.calibrate(body, pure)
    yield from _shaped(body, asked, pure, weights)
    if asked != pure:
        yield Gaussian.calibrate(body, asked, weights)
    yield from _strategies(body, asked, pure, weights)


def _shaped(body: Body, asked: Guarantee, pure: PureDP, weights: np.ndarray | None) -> Iterator[Mechanism]:
    """Yield noise of the body's own shape, where it is made in seconds, of the cube around it, and for long bodies."""
    if isinstance(body, Polytope) and body.ambient_dim <= _MOST_ROWS:
        rank, count = _size(body)
        walks_allowed = isinstance(asked, ApproxDP) and asked.delta_value > 0
        listed = rank < count <= _FEW_POINTS.get(rank, 0)
        long = rank < count and _is_long(body, rank, weights)  # with as many as the rank it is noise on the cells
        kinds: list[type[KNorm] | type[NIM]] = [KNorm, NIM] if long else [KNorm]
        for kind in kinds if listed or (1 < rank < count and walks_allowed) else []:
            with contextlib.suppress(InvalidRequest):  # a walk that mixes too slowly
                made = kind.calibrate(body, asked if walks_allowed else pure)
                made.error(2, weights)
                if walks_allowed or made.guarantee == pure:  # facets that cannot be told apart are walked: not pure
                    yield made
        with contextlib.suppress(InvalidRequest):  # noise beyond 64 bits
            if long:
                yield EllipsoidNoise.calibrate(body, pure, weights)
    with contextlib.suppress(InvalidRequest):
        if 1 < body.ambient_dim <= _MOST_ROWS:
            yield Cube.calibrate(body, pure, weights)


def left_out(body: Body, asked: Guarantee, weights: np.ndarray | None, kept: Collection[str]) -> dict[str, str]:
    """Return, by name, why `candidates` yields no mechanism of the names that are not in `kept`, in words."""
    pure = pure_within(asked)
    reasons: dict[str, Callable[[], str]] = {
        "Identity": lambda: _why_no_table(body, pure),
        "KNorm": lambda: _why_no_shape(body, asked),
        "NIM": lambda: _why_not_long(body, weights) or _why_no_shape(body, asked),
        "Ellipsoid": lambda: _why_not_long(body, weights) or _TOO_LARGE,
        "Cube": lambda: _why_no_box(body),
        "Gaussian": lambda: "needs a δ, ρ or μ",
        "Matrix": lambda: "no strategy is found in seconds",
    }
    return {name: reason() for name, reason in reasons.items() if name not in kept}


def _why_no_table(body: Body, pure: PureDP) -> str:
    if not isinstance(body, Polytope) or not body.generators.counting:
        return "for questions that only count rows"
    if body.generators.n_generators > MOST_CELLS:
        return f"the joint table has {body.generators.n_generators:,} cells"
    if body.coefficient_radius / pure.epsilon_value * float(body.generators.row_squares().max()) > MAX_SCALE / 2:
        return _TOO_LARGE
    return "here the same as Laplace"


def _why_no_shape(body: Body, asked: Guarantee) -> str:
    if not isinstance(body, Polytope) or body.ambient_dim > _MOST_ROWS:
        return f"there are more than {_MOST_ROWS:,} answers"
    rank, count = _size(body)
    if 0 < count == rank:
        return "here noise on the cells, as Identity or Laplace"
    if rank == 1:
        return "in one direction it is the same as Laplace"
    if count > _FEW_POINTS.get(rank, 0) and not (isinstance(asked, ApproxDP) and asked.delta_value > 0):
        return "needs a random walk, and so a δ"
    return "its draws would take too long"


def _why_not_long(body: Body, weights: np.ndarray | None) -> str:
    """Return nothing where the body is long."""
    if isinstance(body, Polytope) and body.ambient_dim <= _MOST_ROWS and _is_long(body, _size(body)[0], weights):
        return ""
    return f"for bodies {_LONG} times longer in one direction than in another"


def _why_no_box(body: Body) -> str:
    if body.ambient_dim == 1:
        return "of one answer it is the same as Laplace"
    return f"there are more than {_MOST_ROWS:,} answers" if body.ambient_dim > _MOST_ROWS else _TOO_LARGE


def _is_long(body: Polytope, rank: int, weights: np.ndarray | None) -> bool:
    """Whether the generators over the weights are a hundred times longer in some direction than in another."""
    if rank < 2:
        return False
    ready = prepared(body.symmetric_columns()) if body.differences else body.prepared
    columns = ready.columns if weights is None else ready.columns / weights[:, None]
    lengths = np.linalg.svd(columns, compute_uv=False)
    return bool(lengths[0] > _LONG * lengths[rank - 1])


def _size(body: Polytope) -> tuple[int, int]:
    """Return rank and number of distinct generators, where these are found quickly; else (0, 0)."""
    count = body.generators.n_generators
    count = count * (count - 1) // 2 if body.differences else count
    if count > _MOST_COLUMNS or body.generators.rank**2 * count > _MOST_WALK:
        return 0, 0
    ready = prepared(body.symmetric_columns()) if body.differences else body.prepared
    distinct = ready.coordinates.shape[1]
    return ready.rank, distinct


def _strategies(body: Body, asked: Guarantee, pure: PureDP, weights: np.ndarray | None) -> Iterator[Mechanism]:
    """Yield the matrix mechanism where strategies are found in seconds: the better of the pure and the Gaussian one."""
    found: list[Mechanism] = []
    for guarantee in dict.fromkeys((pure, asked)):
        with contextlib.suppress(InvalidRequest):
            found.append(Matrix.calibrate(body, guarantee, weights))
    if found:
        yield min(found, key=lambda mechanism: mechanism.error(2, weights))


def pure_within(asked: Guarantee) -> PureDP:
    """Return the largest pure guarantee, rounded down, that implies `asked`.

    ε for (ε, δ); √(2ρ) for ρ-zCDP (Bun and Steinke 2016, proposition 1.4); log(Φ(μ/2)/Φ(−μ/2)) for μ-GDP, whose
    trade-off curve then passes through the vertex of the pure one.
    """
    match asked:
        case ApproxDP(epsilon_value=epsilon):
            return PureDP(epsilon)
        case ZCDP(rho=rho):
            return PureDP(math.sqrt(2 * rho) * (1 - 2.0**-40))
        case GaussianDP(mu=mu):
            return PureDP(_gap(mu) * (1 - (2.0**-40 if mu < 50 else 1e-8)))  # more than its cost is rounded up by
        case PureDP():
            return asked
    raise TypeError(f"{asked!r} is not a single guarantee")


def choose(mechanisms: Sequence[M], errors: Sequence[float]) -> tuple[M, str]:
    """Return the mechanism of least expected error, an exact one within 10 % first, and the reason in words."""
    least = min(errors)
    near = [i for i, m in enumerate(mechanisms) if m.exactness == "exact" and errors[i] <= 1.1 * least]
    best = min(near or range(len(errors)), key=errors.__getitem__)
    others: dict[str, float] = {}
    for i, (mechanism, error) in enumerate(zip(mechanisms, errors, strict=True)):
        if i != best:
            others[mechanism.name] = min(error, others.get(mechanism.name, math.inf))
    against = ", ".join(f"{name} {readable(error)}" for name, error in others.items())
    reason = f"least expected error, {readable(errors[best])}"
    if errors[best] > least:
        name = mechanisms[errors.index(least)].name
        reason = f"exact, and within a tenth of the least error ({name}, {readable(least)}): {readable(errors[best])}"
    return mechanisms[best], reason + (f" (against {against})" if against else "")


def _has_table_of_its_own(body: Body, pure: PureDP) -> bool:
    """Whether noise on the joint cells is possible, affordable, and not the same as noise on the answers."""
    if not isinstance(body, Polytope) or not body.generators.counting or body.generators.n_generators > MOST_CELLS:
        return False
    squares = body.generators.row_squares()
    if body.coefficient_radius / pure.epsilon_value * float(squares.max()) > MAX_SCALE / 2:
        return False
    return body.ambient_dim != body.generators.n_generators or bool((squares != 1).any())


def _gap(mu: float) -> float:
    """log(Φ(μ/2)/Φ(−μ/2)) = 2·artanh(erf(μ/√8))."""
    if mu < 1:
        return 2 * math.atanh(math.erf(mu / math.sqrt(8)))
    return float(scipy.special.log_ndtr(mu / 2) - scipy.special.log_ndtr(-mu / 2))
