"""Brute force: what rows and persons add to an answer, and by how much neighbours differ."""

from itertools import combinations_with_replacement

import numpy as np

from tests.queries.stub import contributions, every_row


def alone(query) -> np.ndarray:
    """What one row can add; a dropped row, where rows can be dropped, is the zero vector."""
    return contributions(query, every_row(query.domain, query.attributes, query.columns))


def persons(points: np.ndarray, max_rows: int) -> np.ndarray:
    """Sums over up to `max_rows` rows."""
    points = points[:6] if max_rows > 1 else points
    chosen = [
        rows for count in range(max_rows + 1) for rows in combinations_with_replacement(range(len(points)), count)
    ]
    return np.unique([points[list(rows)].sum(axis=0) for rows in chosen], axis=0)


def differences(query, unit) -> np.ndarray:
    """f(D) − f(D′) for all neighbours: a row's or a person's contribution, or the difference of two of them."""
    points = alone(query)
    if unit.column is not None:
        points = persons(points, unit.max_rows)
    if unit.neighbours == "add_remove":
        return np.vstack([points, -points])
    points = np.vstack([points, np.zeros_like(points[:1])])  # a line that a text file breaks is left out
    return (points[:, None] - points[None]).reshape(-1, points.shape[1])


def longest(points: np.ndarray, p: float, weights: np.ndarray | None = None) -> float:
    return np.linalg.norm(points if weights is None else points / weights, p, axis=1).max(initial=0.0)
