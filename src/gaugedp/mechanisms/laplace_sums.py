"""Quantiles of differences of two weighted sums of Laplace variables, by integrals along a line."""

import numpy as np
import scipy

_NODES, _STEP, _BEND = 100, 0.12, 0.2  # of the sum along the line, in widths of its saddle
_ROUNDS, _NEAR = 40, 0.02  # the line need not be through the saddle itself
_SAFE = 1 + 1e-9  # covers the rounding of sums and what the rule leaves


def upper_quantiles(miss: float, counts: tuple[np.ndarray, np.ndarray], weights: tuple[float, float]) -> np.ndarray:
    """Return t with P(a·S − b·S′ ≥ t) ≤ miss, S and S′ sums of `counts` (n,) independent Laplace variables of scale 1.

    Shape (n,); a, b > 0 are `weights`, 0 < miss < 1/2; in each place one of the counts is at least 1. With K the
    logarithm of E e^{sX}, P(X ≥ t) = (1/2πi)·∫ e^{K(s) − st}/s ds along any line that crosses the real axis between 0
    and the least 1/a, 1/b in use. Bent to the right it ends where e^{−st} is nothing, and the trapezoidal rule is right
    to more digits than are kept; Newton's steps start from the normal law. docs/theory/rank_tree.md
    """
    first, second = (np.asarray(count, dtype=float)[:, None] for count in counts)
    a, b = weights
    pole = np.minimum(np.where(first > 0, 1 / a, np.inf), np.where(second > 0, 1 / b, np.inf))
    std = np.sqrt(2 * (first * a**2 + second * b**2))
    places = -float(scipy.special.ndtri(miss)) * std
    for _ in range(_ROUNDS):
        saddles = _saddles(places, pole, (first, second), weights)
        tails, densities = _line(places, saddles, (first, second), weights)
        steps = (tails - miss) / densities
        places = np.maximum(places + np.clip(steps, -std, std), 1e-3 * std)
        if (np.abs(steps) <= 1e-10 * std).all():
            break
    return (places * _SAFE)[:, 0]


def _saddles(
    places: np.ndarray, pole: np.ndarray, counts: tuple[np.ndarray, np.ndarray], weights: tuple[float, float]
) -> np.ndarray:
    """Return s between 0 and the pole where K(s) − s·place − log s is least, by Newton's steps kept within."""
    saddles = 0.5 * pole
    low, high = np.zeros_like(pole), pole.copy()
    for _ in range(_ROUNDS):
        slopes, curves = -places - 1 / saddles, 1 / saddles**2
        for count, weight in zip(counts, weights, strict=True):
            square = (weight * saddles) ** 2
            slopes += 2 * count * weight**2 * saddles / (1 - square)
            curves += 2 * count * weight**2 * (1 + square) / (1 - square) ** 2
        low, high = np.where(slopes < 0, saddles, low), np.where(slopes < 0, high, saddles)
        newton, before = saddles - slopes / curves, saddles
        saddles = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        if (np.abs(saddles - before) <= _NEAR * np.minimum(saddles, pole - saddles)).all():
            break
    return saddles


def _line(
    places: np.ndarray, saddles: np.ndarray, counts: tuple[np.ndarray, np.ndarray], weights: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return P(X ≥ place) and the density there, (n, 1) each."""
    curves = 1 / saddles**2 + sum(
        2 * count * weight**2 * (1 + (weight * saddles) ** 2) / (1 - (weight * saddles) ** 2) ** 2
        for count, weight in zip(counts, weights, strict=True)
    )
    steps = _STEP / np.sqrt(curves)
    along = _STEP * np.arange(_NODES)
    points = saddles + steps / _STEP * (1j * along + _BEND * along**2)
    logs = -points * places
    for count, weight in zip(counts, weights, strict=True):
        logs = logs - count * np.log(1 - (weight * points) ** 2)
    values = np.exp(logs) * (1j + 2 * _BEND * along)
    values[:, 0] /= 2
    tails = steps / np.pi * (values / points).imag.sum(axis=1, keepdims=True)
    return tails, steps / np.pi * values.imag.sum(axis=1, keepdims=True)
