"""The geometry of sensitivity bodies and its effects."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.displays import drawing
from gaugedp._internal.numbers import readable
from gaugedp._internal.validate import positive
from gaugedp.bodies import Body, Polytope, Volume, volume
from gaugedp.bodies.base import check_body
from gaugedp.bounds.projected import lower_bound, nested_bounds
from gaugedp.bounds.volume import VolumeBound, largest_volume
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.pure import PureDP
from gaugedp.mechanisms import NIM, AdditiveNoise, EllipsoidNoise, KNorm
from gaugedp.mechanisms.choose import candidates
from gaugedp.samplers.uniform import UniformMoments, moments

_MOST_WORK = 10**6  # rank² times generators: beyond it a walk takes more than seconds
_SHADOW_DRAWS = 600
_PANELS = ((0, 1), (0, 2), (1, 2))  # of principal axes
_OVER = "least error over the bound"
_BELOW = "below 1: the bound is for real-valued data, and some noise for integers"
_CERTIFIED = "certified with confidence 1 − 10⁻⁹"
_HOW = {"exact": "exact", "lower": "at least this, proved", "certified": f"at least this, {_CERTIFIED}"}


@dataclass(frozen=True, eq=False)
class BodyGeometry:
    """Comparison of mechanisms with the smallest possible error.

    `gd.geometry` returns it for a sensitivity body, the set of all changes that one unit can cause in the answers. No
    data is used. Its attributes are:

    - `errors` maps the name of each mechanism to the expected Euclidean norm of its noise at `epsilon`.
    - `bound` is a lower bound on the error of every mechanism, and `ratio` is the smallest error divided by this bound.
    - `volume` is the volume of the body.
    - `moments` are the moments of a random point of the body, or None if they would take minutes to compute.
    - `isotropic_constant` measures how spread out the body is for its volume.
    - `volume_quantity` is the order of magnitude of the smallest error, computed from the volume, and
      `projected_quantity` is its maximum over projections of the body. Neither of them is a bound.
    """

    body: Body
    epsilon: float
    volume: Volume
    projected_quantity: float
    moments: UniformMoments | None
    mechanisms: tuple[AdditiveNoise, ...]
    bound: VolumeBound

    @property
    def rank(self) -> int:
        """The dimension of the body's span."""
        return self.body.rank

    @property
    def volume_quantity(self) -> float:
        """The quantity r·√r·vol_r^{1/r}/ε for the rank r."""
        return _quantity(self.volume, self.rank, self.epsilon)

    @property
    def isotropic_constant(self) -> float:
        """The isotropic constant det(Cov)^{1/(2r)}/vol_r^{1/r} for rank r.

        It is an upper bound if the volume is a lower bound, and NaN without moments.
        """
        if self.moments is None:
            return math.nan
        return isotropic_constant(self.body.span.T @ self.moments.second_moment @ self.body.span, self.volume)

    @property
    def principal_deviations(self) -> np.ndarray:
        """Standard deviations of a uniform point along principal axes.

        They are in decreasing order.
        """
        return np.sqrt(_principal(self.body, self.moments)[0]) if self.moments is not None else np.zeros(0)

    @property
    def errors(self) -> dict[str, float]:
        """Expected ℓ₂ norm of the noise, by mechanism.

        The errors are in increasing order.
        """
        listed = [(mechanism.name, mechanism.error()) for mechanism in self.mechanisms]
        return dict(sorted(listed, key=lambda pair: pair[1]))

    @property
    def ratio(self) -> float:
        """The least error divided by the bound."""
        return next(iter(self.errors.values())) / self.bound if self.bound > 0 else math.inf

    def table(self) -> str:
        """Return all numbers as text, one line each."""
        exactness = {mechanism.name: mechanism.exactness for mechanism in self.mechanisms}
        how = "" if self.moments is None else f" ({self.moments.kind})"
        most = "" if self.volume.kind == "exact" else "at most "
        logarithm = f"its logarithm {self.volume.log_volume:.6g}"
        known = "proved" if self.bound.confidence == 1 else _CERTIFIED
        rows = [
            ("rank", f"{self.rank} of {self.body.ambient_dim} dimensions"),
            ("volume", f"{readable(self.volume.value)} ({_HOW[self.volume.kind]}; {logarithm})"),
            ("VolLB", f"{readable(self.volume_quantity)} (an order of magnitude, not a bound)"),
            ("GVolLB", f"{readable(self.projected_quantity)} (over shadows; not a bound)"),
            ("isotropic constant", f"{most}{self.isotropic_constant:.4g}{how}" if how else "not known"),
            ("deviations", f"{_short(self.principal_deviations)}{how}"),
            *((f"error of {name}", f"{readable(error)} ({exactness[name]})") for name, error in self.errors.items()),
            ("lower bound", f"{readable(self.bound)} ({known})"),
            ("ratio", f"{self.ratio:.3g} ({_OVER if self.ratio >= 1 else _BELOW})"),
        ]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {text}" for name, text in rows]
        return "\n".join([f"{self.body!r} at ε = {self.epsilon:g}", *lines])

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON, with None if unknown."""
        return {
            "epsilon": self.epsilon,
            "rank": self.rank,
            "ambient_dim": self.body.ambient_dim,
            "volume": {"log": self.volume.log_volume, "kind": self.volume.kind, "confidence": self.volume.confidence},
            "volume_quantity": self.volume_quantity,
            "projected_quantity": self.projected_quantity,
            "isotropic_constant": None if self.moments is None else self.isotropic_constant,
            "principal_deviations": self.principal_deviations.tolist(),
            "errors": self.errors,
            "lower_bound": {"value": float(self.bound), "kind": self.bound.kind, "confidence": self.bound.confidence},
            "ratio": self.ratio if math.isfinite(self.ratio) else None,
        }

    def __repr__(self) -> str:
        name, error = next(iter(self.errors.items()))
        return f"BodyGeometry(rank={self.rank}, {name} {error:.4g}, bound {self.bound:.4g}, ε={self.epsilon:g})"

    def to_svg(self, axes: tuple[int, int] | None = None) -> str:
        """Return shadows of the body and noise draws as SVG.

        The draws are of the mechanism with the least error, with a public key and no data. `axes` are two coordinates,
        numbered from 0, that span the plane; by default there are planes of the first three principal axes. The method
        needs the extra `report`.
        """
        best = min(self.mechanisms, key=lambda mechanism: mechanism.error())
        noise = best.sample_noise(_SHADOW_DRAWS, research_rng(7))
        planes = _planes(self.body, self.moments, axes)
        shadows = [(self._edge(plane), noise @ plane, names) for plane, names in planes]
        words = f"{self.body!r}, and noise of {best.name} at ε = {self.epsilon:g}"
        return str(drawing("shadows")(shadows, (words, f"{_SHADOW_DRAWS} draws of {best.name}")))

    def save_svg(self, path: str | Path, axes: tuple[int, int] | None = None) -> None:
        """Write `to_svg` to a file."""
        Path(path).write_text(self.to_svg(axes), encoding="utf-8")

    def _edge(self, plane: np.ndarray, *, n_points: int = 180) -> np.ndarray:  # points of a shadow's edge
        """Return the closed edge (k, 2) of a planar shadow."""
        turns = np.linspace(0, 2 * math.pi, 2 * n_points + 1)
        return self.body.argmax(np.column_stack([np.cos(turns), np.sin(turns)]) @ plane.T) @ plane


def geometry(body: Body, epsilon: float = 1.0) -> BodyGeometry:
    """Compare mechanisms for a body with the smallest possible error.

    Use it to see which noise suits a query, and how much a better mechanism could still gain. No data is used. The
    computation takes seconds, or a minute if the body spans many dimensions.

    Parameters
    ----------
    body : Body
        The sensitivity body, which contains all changes that one protected unit can cause in the answers. You obtain it
        by `query.sensitivity(unit)`.
    epsilon : float
        The privacy parameter ε of pure differential privacy. Default 1.

    Returns
    -------
    BodyGeometry
        The error of each mechanism, a lower bound on all errors, and the volume and moments of the body.

    Examples
    --------
    For three counts of which one unit changes one by 1, the mechanism `KNorm` has an expected error of 2.104. No
    mechanism with the same guarantee has an error below 2.046:

    >>> import gaugedp as gd
    >>> gd.geometry(gd.bodies.LpBall(3, 1))
    BodyGeometry(rank=3, KNorm 2.104, bound 2.046, ε=1)
    """
    check_body(body)
    positive(epsilon=epsilon)
    measured = _moments(body)
    singles = nested_bounds(body, epsilon, None if measured is None else measured.second_moment)
    bound = lower_bound(body, epsilon)
    quantity = max(_quantity(single.volume, single.rank, epsilon) for single in singles)
    mechanisms = tuple(_mechanisms(body, epsilon))
    return BodyGeometry(body, epsilon, largest_volume(body), quantity, measured, mechanisms, bound)


def _mechanisms(body: Body, epsilon: float) -> Iterator[AdditiveNoise]:
    offered = [*candidates(body, PureDP(epsilon))]
    names = {mechanism.name for mechanism in offered}
    for kind in (KNorm, NIM, EllipsoidNoise):
        if kind.name not in names and _is_quick(body):
            with contextlib.suppress(InvalidRequest):  # not for this body, or a walk that mixes too slowly
                offered.append(kind.calibrate(body, PureDP(epsilon)))
    least: dict[str, AdditiveNoise] = {}
    for mechanism in offered:
        if isinstance(mechanism, AdditiveNoise):
            best = least.get(mechanism.name)
            least[mechanism.name] = mechanism if best is None or mechanism.error() < best.error() else best
    yield from least.values()


def _moments(body: Body) -> UniformMoments | None:
    if _is_quick(body):
        with contextlib.suppress(InvalidRequest):
            return moments(body)
    return None


def _is_quick(body: Body) -> bool:
    return not isinstance(body, Polytope) or body.rank**2 * body.generators.n_generators <= _MOST_WORK


def _quantity(body_volume: Volume, rank: int, epsilon: float) -> float:
    return rank**1.5 * math.exp(body_volume.log_volume / rank) / epsilon


def _principal(body: Body, measured: UniformMoments | None) -> tuple[np.ndarray, np.ndarray]:
    """Return mean squares (r,) and principal axes (d, r), decreasing."""
    span = body.span
    moment = np.eye(body.rank) if measured is None else span.T @ measured.second_moment @ span
    values, vectors = np.linalg.eigh(moment)
    return np.maximum(values[::-1], 0.0), span @ vectors[:, ::-1]


def _planes(
    body: Body, measured: UniformMoments | None, axes: tuple[int, int] | None
) -> Iterator[tuple[np.ndarray, tuple[str, str]]]:
    """Yield planes (d, 2) and the names of their axes."""
    d = body.ambient_dim
    if axes is not None:
        if len(axes) != 2 or len({axis for axis in axes if axis in range(d)}) != 2:
            raise InvalidRequest(
                f"`axes` is {axes!r}, but must be two different coordinates of the {d} answers.",
                f"Pass two different integers from 0 to {d - 1}, such as axes=(0, 1).",
            )
        yield np.eye(d)[:, list(axes)], (f"coordinate {axes[0]}", f"coordinate {axes[1]}")
        return
    vectors = np.pad(_principal(body, measured)[1], ((0, 0), (0, 1)))
    for first, second in _PANELS if body.rank > 2 else _PANELS[:1]:
        yield vectors[:, [first, second]], (f"principal axis {first + 1}", f"principal axis {second + 1}")


def _short(values: np.ndarray) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:6])
    return f"{shown} …" if len(values) > 6 else shown or "not known"


def isotropic_constant(covariance: np.ndarray, volume: Volume) -> float:
    """Return the isotropic constant L_K of a body K.

    It measures how spread out the body is for its volume, and no linear map changes it. For example, it is 0.2887 =
    1/√12 for a cube of any size. No body has a smaller constant than the ball (Milman and Pajor 1989).

    Notes
    -----
    The constant is L_K = det(Cov)^{1/(2r)}/vol_r(K)^{1/r}, where r is the rank of K. Here `covariance`, Cov, of shape
    (r, r), is the covariance matrix of a uniform point of K in coordinates of an orthonormal basis S of its span. From
    a matrix C of shape (d, d) you get it as SᵀCS, with S = body.span.

    Examples
    --------
    A uniform point of a square with half sides 1 has the variance 1/3 in each coordinate. The constant is 1/√12:

    >>> import numpy as np
    >>> from gaugedp.bodies import LpBall, volume
    >>> from gaugedp.bounds import isotropic_constant
    >>> round(isotropic_constant(np.eye(2) / 3, volume(LpBall(2, np.inf))), 4)
    0.2887
    """
    logs = np.log(_eigenvalues(covariance))
    return math.exp(float(logs.mean()) / 2 - volume.log_volume / len(logs))


def is_approximately_isotropic(covariance: np.ndarray, c: float) -> bool:
    """Return True if a body is c-approximately isotropic.

    The property means that a uniform point of the body varies by a similar amount in all directions. If it holds, the
    volume of the body bounds the error of K-norm noise.

    Notes
    -----
    The property is λ_max(Cov) ≤ c²·L_K²·vol_r(K)^{2/r}, where Cov, L_K and r are as for `isotropic_constant`. The right
    side is c²·det(Cov)^{1/r}. The root mean square of K-norm noise is then at most c·L_K·√((r + 1)(r +
    2)·r)·vol_r(K)^{1/r}/ε, because its square is (r + 1)(r + 2)/ε²·tr Cov.
    """
    positive(c=c)
    values = _eigenvalues(covariance)
    return bool(math.log(values[-1]) <= 2 * math.log(c) + float(np.log(values).mean()) + 1e-12)


def volume_quantity(body: Body, epsilon: float) -> float:
    """Return the order of magnitude of the volume bound.

    It is r·√r·vol_r(K)^{1/r}/ε for a body K of rank r (Hardt and Talwar 2010). It is not a bound: it lacks a constant,
    and errors can be a third of it. For a bound use `lower_bound`.
    """
    positive(epsilon=epsilon)
    return _quantity(volume(body), body.rank, epsilon)


def _eigenvalues(covariance: np.ndarray) -> np.ndarray:
    matrix = np.asarray(covariance, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise InvalidRequest(
            f"The covariance has shape {matrix.shape}, but must be a square matrix of finite numbers.",
            "Pass the covariance matrix of the noise, of shape (d, d).",
        )
    values = np.linalg.eigvalsh(matrix)
    if not values[0] > 0:
        raise InvalidRequest(
            "The covariance matrix is singular: at least one combination of the answers has no noise.",
            "Omit answers that follow from others, or pass the covariance in the coordinates of body.span.",
        )
    return values
