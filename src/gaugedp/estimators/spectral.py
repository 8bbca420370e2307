"""Base of private eigenvectors."""

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from gaugedp._internal.validate import moderate, one_of
from gaugedp.bodies import LpBall
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import PUBLIC_ROWS, NoisyRowCount
from gaugedp.estimators.row_scaling import Centre, clip_factor, sums_of
from gaugedp.estimators.rows import check_one_given, into_ball, into_box
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.ledger.entries import Reservation
from gaugedp.optimization.eigenvectors.noisy_moments import NoisyMoments, Pairs, check_components
from gaugedp.optimization.eigenvectors.oja import Oja
from gaugedp.optimization.eigenvectors.sphere_exponential import SphereExponential
from gaugedp.optimization.lattice import for_gaussian_releases
from gaugedp.optimization.row_blocks import blocks, slices

SOLVERS = ("auto", "gaussian", "oja", "exponential")
CENTRES = ("mean", "public")

Shape = tuple[int, int]  # columns, components


@dataclass(frozen=True, eq=False)
class BallScaling:
    """Rows in the unit ball: (x − origin)/size.

    x is clipped to a box, or to a ball of that size. One scale serves all columns, so that directions do not change.
    """

    box: tuple[np.ndarray, np.ndarray] | None
    origin: np.ndarray
    size: float

    @classmethod
    def of(cls, reading: Reading, row_norm: Any, centred: bool) -> "BallScaling":
        """Return the scaling of a box or `row_norm`; `centred` puts the origin at the box's middle."""
        if reading.box is None:
            moderate(row_norm=row_norm)
            return cls(None, np.zeros(reading.n_columns), float(row_norm))
        low, high = reading.box
        origin = low / 2 + high / 2 if centred else np.zeros(reading.n_columns)
        reach = np.maximum(high - origin, origin - low)
        largest = float(reach.max())
        return cls((low, high), origin, largest * float(np.linalg.norm(reach / largest)))

    def unit(self, rows: np.ndarray) -> np.ndarray:
        """Return new points (n, d) of the unit ball."""
        points = np.empty(rows.shape)
        for part in slices(rows):
            points[part] = self._inside(rows[part])
        return points

    def _inside(self, block: np.ndarray) -> np.ndarray:
        if self.box is None:
            return into_ball(block, 2, self.size)
        low, high = self.box
        middle, half = (low / 2 + high / 2 - self.origin) / self.size, (high / 2 - low / 2) / self.size
        return into_ball(middle + half * into_box(block, low, high), 2, 1.0)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenpairs of centred rows over √`scale`, with public facts."""

    pairs: Pairs
    mean: np.ndarray
    scale: float
    n_rows: float
    guarantee: Guarantee
    exactness: str
    facts: dict[str, Any]
    reservation: Reservation | None

    def explaining(self, share: float) -> "Spectrum":
        """Return the fewest leading pairs with this share of the released variances. Post-processing."""
        sums = np.cumsum(np.maximum(self.pairs.values, 0.0))
        k = int(np.searchsorted(sums, share * sums[-1])) + 1
        first = replace(self.pairs, values=self.pairs.values[:k], vectors=self.pairs.vectors[:k])
        return replace(self, pairs=first, facts={**self.facts, "share": share})


@dataclass(eq=False, repr=False)
class SpectralEstimator(PrivateEstimator):
    """Base of eigenvector estimators, which choose number and centre."""

    _: KW_ONLY
    row_norm: float | None = None
    bounds: Any = None
    solver: str = "auto"

    _number = "n_components"  # the parameter for the number of components

    def _find(self, X: Any, n_components: Any, centre: str | None) -> Spectrum:
        """Check, charge, and release eigenpairs; `centre` is "mean" (charged), "public", or None for 0."""
        if centre is not None:
            one_of(CENTRES, centre=centre)
        requested, rows = self._requested(), self._rows(X)
        check_one_given(self.bounds, self.row_norm)
        reading = Reading.of(self.bounds, names_of(X), rows.shape[1], indicator=False)
        frame = BallScaling.of(reading, self.row_norm, centre is not None)
        shape = rows.shape[1], rows.shape[1] if n_components is None else n_components
        check_components(*shape, self._number)
        count = NoisyRowCount(requested, self.neighbours)
        solver, reason = self._solver(count.remaining, shape, len(rows) if self.neighbours == "replace" else None)
        remaining = count.remaining
        if solver == "exponential" and isinstance(remaining, ApproxDP):
            remaining = PureDP(remaining.epsilon_value)
        guarantee = count.with_remaining(for_gaussian_releases(remaining))

        def planned(n_rows: float) -> tuple[Centre, NoisyMoments | Oja | SphereExponential]:
            middle = Centre(None, remaining)
            if centre == "mean":
                middle = _centre(remaining, shape[0], n_rows, self.neighbours)
            return middle, _method(solver, shape, middle, self.neighbours)

        planned(len(rows) if self.neighbours == "replace" else PUBLIC_ROWS)  # refuses before the charge
        reservation = self._pay(guarantee, requested, rows.shape)
        rng = self._generator()
        n_rows = count.draw(len(rows), rng)
        middle, method = planned(n_rows)
        unit = frame.unit(rows)
        shift, spread = middle.release(lambda: sums_of(blocks(unit)), n_rows, rng)
        size = 1.0
        if middle.noise is not None:
            size = min(1 + float(np.linalg.norm(shift)), spread * _clip_factor(remaining, shape[0], n_rows))
            unit = into_ball(unit - shift, 2, size)
        pairs = _possible(method.solve(unit, rng), n_rows)
        facts = {
            "solver": solver, "reason": reason, "noise": method.describe(), "mean": middle.noise is not None,
            "radius": size * frame.size,
        }  # fmt: skip
        self._read_by(reading)
        mean, scale = frame.origin + shift * frame.size, (size * frame.size) ** 2
        return Spectrum(pairs, mean, scale, n_rows, guarantee, method.exactness, facts, reservation)

    def _solver(self, guarantee: Guarantee, shape: Shape, n_rows: int | None) -> tuple[str, str]:
        one_of(SOLVERS, solver=self.solver)
        if self.solver == "auto":
            return _advised(guarantee, shape, n_rows)
        if self.solver != "exponential" and not isinstance(guarantee, ApproxDP):
            raise InvalidRequest(
                f'solver="{self.solver}" requires `delta` above 0.',
                'Set `delta`, or use solver="exponential".',
            )
        return self.solver, "requested"

    def _record(self, spectrum: Spectrum, values: dict[str, np.ndarray]) -> None:
        self.solver_, self.reason_, self.n_rows_ = spectrum.facts["solver"], spectrum.facts["reason"], spectrum.n_rows
        numbers = {**values, "n_rows": np.array(spectrum.n_rows)}
        self._publish(numbers, spectrum.guarantee, spectrum.exactness, spectrum.facts, spectrum.reservation)


def _advised(guarantee: Guarantee, shape: Shape, n_rows: int | None) -> tuple[str, str]:
    if not isinstance(guarantee, ApproxDP):
        return "exponential", "a pure guarantee is requested"
    gaussian_price = shape[1] * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value) ** 2
    few = guarantee.epsilon_value / gaussian_price if gaussian_price > 0 else math.inf
    if n_rows is not None and n_rows <= few:
        return "exponential", f"there are at most {few:.3g} rows, so that drawing from the sphere has less error"
    if shape[0] > TUNED.moment_columns:
        return "oja", f"there are more than {TUNED.moment_columns:,} columns: the matrix of second moments is not made"
    return "gaussian", "second moments with noise have the least error"


def _method(solver: str, shape: Shape, centre: Centre, neighbours: str) -> NoisyMoments | Oja | SphereExponential:
    remaining = centre.remaining
    if isinstance(remaining, PureDP):
        return SphereExponential.calibrate(shape, remaining, neighbours)
    guarantee = for_gaussian_releases(remaining)
    assert isinstance(guarantee, GaussianDP)
    for_moments = GaussianDP(math.sqrt(guarantee.mu**2 - centre.auxiliary_mu**2) * (1 - 2.0**-40))
    return (Oja if solver == "oja" else NoisyMoments).calibrate(shape, for_moments, neighbours)


def _centre(guarantee: Guarantee, n_columns: int, n_rows: float, neighbours: str) -> Centre:
    """Return the noise of the mean, balanced with the eigenvalues'.

    The error e of the mean adds n·‖e‖² to an eigenvalue, which should stay below the noise. With t of μ² that is
    moved²·d/(t·μ²·n), against about 2√d/μ on the second moments; with t of ε it is moved²·d²/(t²·ε²·n), against d/((1 −
    t)·ε) below which directions are drawn blindly; all over the squared distance of the rows from their mean, which is
    guessed. docs/theory/eigenvectors.md
    """
    sensitivity = (2.0 if neighbours == "replace" else math.sqrt(2.0)) * (1 + 2.0**-20)
    ball, size = LpBall(n_columns + 1, 2, sensitivity), n_columns + 1
    if isinstance(guarantee, ApproxDP):
        mu = gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
        ratio = sensitivity**2 * math.sqrt(size) / (2 * mu * n_rows * TUNED.distance_from_mean)
        auxiliary_mu = mu * math.sqrt(ratio / (1 + ratio))
        return Centre.spending(auxiliary_mu, guarantee, ball, sensitivity * math.sqrt(size) / (n_rows * auxiliary_mu))
    assert isinstance(guarantee, PureDP)
    ratio = sensitivity**2 * size / (guarantee.epsilon_value * n_rows * TUNED.distance_from_mean)
    spent = guarantee.epsilon_value * 2 / (math.sqrt(1 + 4 / ratio) + 1)  # (√(r² + 4r) − r)/2, without loss of digits
    return Centre.spending(spent, guarantee, ball, sensitivity * size / (n_rows * spent))


def _possible(pairs: Pairs, n_rows: float) -> Pairs:
    """Return pairs with values projected onto non-increasing ones of sum at most n."""
    values, held = np.minimum(pairs.values, n_rows), np.minimum(pairs.held, n_rows)
    values = isotonic_regression(values, increasing=False)
    values, held = (sums * min(1.0, n_rows / max(float(sums.sum()), 1e-300)) for sums in (values, held))
    total = None if pairs.total is None else max(min(pairs.total, n_rows), float(values.sum()))
    return replace(pairs, values=values, held=held, total=total)


def _clip_factor(guarantee: Guarantee, n_columns: int, n_rows: float) -> float:
    if isinstance(guarantee, ApproxDP):
        noise = 2 * math.sqrt(n_columns) / (gaussian_mu(guarantee.epsilon_value, guarantee.delta_value) * n_rows)
    else:
        assert isinstance(guarantee, PureDP)
        noise = n_columns / (guarantee.epsilon_value * n_rows)
    return clip_factor(math.sqrt(n_columns) * noise, TUNED.spectral_clipping_noise) + 1 / n_columns
