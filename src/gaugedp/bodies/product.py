"""Products of bodies, for independent parts of an answer."""

from dataclasses import dataclass

import numpy as np

from gaugedp.bodies.base import Body, check_points, with_weights
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True, eq=False)
class Product(Body):
    """Product K_1 × … × K_n of bodies.

    It is the sensitivity body of an answer with independent parts: one unit may change each part as far as its own body
    K_i permits, whatever the change of the other parts.
    """

    parts: tuple[Body, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidRequest("A product needs at least one body, but none is given.", "Pass at least one body.")

    @property
    def ambient_dim(self) -> int:
        """The sum of the parts' dimensions."""
        return sum(part.ambient_dim for part in self.parts)

    @property
    def rank(self) -> int:
        """The sum of the parts' ranks."""
        return sum(part.rank for part in self.parts)

    @property
    def span(self) -> np.ndarray:
        """The parts' bases, as diagonal blocks."""
        from scipy.linalg import block_diag

        return np.asarray(block_diag(*(part.span for part in self.parts)))

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return the ℓ_p norm of the parts' radii."""
        pairs = zip(self.parts, self.split(with_weights(weights, self.ambient_dim)), strict=True)
        return float(np.linalg.norm([part.radius(p, scales) for part, scales in pairs], p))

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the largest gauge of a part."""
        rows = self.split(check_points(points, self.ambient_dim))
        return np.max([part.gauge(points) for part, points in zip(self.parts, rows, strict=True)], axis=0)

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return the sum of the parts' supports."""
        rows = self.split(check_points(directions, self.ambient_dim))
        return np.sum([part.support(directions) for part, directions in zip(self.parts, rows, strict=True)], axis=0)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return the concatenated argmaxes of the parts."""
        rows = self.split(check_points(directions, self.ambient_dim))
        return np.hstack([part.argmax(directions) for part, directions in zip(self.parts, rows, strict=True)])

    def split(self, rows: np.ndarray) -> list[np.ndarray]:
        """Split rows (…, d) by part."""
        return np.split(rows, np.cumsum([part.ambient_dim for part in self.parts])[:-1], axis=-1)

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.parts))})"
