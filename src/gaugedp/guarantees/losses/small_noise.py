"""Losses of small Gaussian noise on a Poisson sample, which almost reveal the sample."""

import math

import numpy as np

from gaugedp.accountant.loss import Array, Line, PrivacyLoss, line_of


class FaintPrivacyLoss(PrivacyLoss):
    """Losses of small subsampled Gaussian noise, with rows (q, σ).

    The loss is log(1 − q) with probability 1 − q, else log q + N(1/2σ², 1/σ²); M(z) = (1 − q)^{z+1} +
    q^{z+1}·e^{z(z+1)/2σ²}. With an infinite loss of probability 2·Φ(−1/2σ) for each release, it bounds the profile of
    any number of releases of (1 − q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²).

    Proof. Both distributions carry a label. Under P it states whether x comes from N(1, σ²), under Q whether x > ½. The
    labelled pair dominates, by post-processing. Its loss is log(1 − q) with label 0, and log q + u with label 1, u =
    (2x − 1)/2σ². It is infinite where the labels differ, which has probability η = Φ(−1/2σ) under P, below 1e−23 for σ
    < 0.05. Without the condition that they agree, u is N(1/2σ², 1/σ²). So the profile of n releases is at most η_n + e,
    η_n = 1 − (1 − η)^n, where e = E[(1 − e^{ε−L})₊] for the sum L of n independent losses of this class (and of all
    other losses). The accountant computes δ + (1 − δ)·e for δ = 1 − (1 − 2η)^n. This is more for e up to about ½;
    otherwise rounding covers the difference.
    """

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M, if small by M − 1."""
        moments = [count * _log_moment(orders, *row) for row, count in zip(self.rows, self.counts, strict=True)]
        return np.sum(moments, axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line of both parts of M."""
        lines = (_line(order, heights, *row).times(n) for row, n in zip(self.rows, self.counts, strict=True))
        return Line.sum(lines, heights)

    def sampled_normals(self) -> list[tuple[float, float, int]]:
        """Return the rows."""
        return [(*row, count) for row, count in zip(self.rows, self.times, strict=True)]

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Return the decreasing log(1 − w + w·e^{−t²/2σ²}) at t = `height`, w the share of the second part."""
        total = 0.0
        for (rate, std), count in zip(self.rows, self.counts, strict=True):
            share = _share(order, rate, std) * (1 - 1e-9)
            total += count * math.log1p(share * math.expm1(-((height / std) ** 2) / 2))
        return total


def _line(order: float, heights: Array, rate: float, std: float) -> Line:
    share = _share(order, rate, std)
    turn, second = heights * math.log1p(-rate), heights * (math.log(rate) + (order + 0.5) / std**2)
    fall = -((heights / std) ** 2) / 2
    real = -2 * (1 - share) * np.sin(turn / 2) ** 2
    real += share * (np.expm1(fall) - 2 * np.exp(fall) * np.sin(second / 2) ** 2)
    imaginary = (1 - share) * np.sin(turn) + share * np.exp(fall) * np.sin(second)
    lost = 16 + 8 * (np.abs(turn) + share * (np.abs(second) - fall) * np.exp(fall / 2))
    lost += 16 * share * (1 - share) * order / std**2  # the rounding of the share
    return line_of(real[None], imaginary[None], lost[None], np.ones(1))


def _share(order: float, rate: float, std: float) -> float:
    at = np.array([order])
    return math.exp(_logs(at, rate, std)[1][0] - _log_moment(at, rate, std)[0])


def _logs(orders: Array, rate: float, std: float) -> tuple[Array, Array]:
    grown = orders * (orders + 1) / (2 * std**2)
    return (orders + 1) * math.log1p(-rate), (orders + 1) * math.log(rate) + grown


def _log_moment(orders: Array, rate: float, std: float) -> Array:
    first, second = _logs(orders, rate, std)
    near = (1 - rate) * np.expm1(np.minimum(first - math.log1p(-rate), 1.0))
    near += rate * np.expm1(np.minimum(second - math.log(rate), 1.0))
    return np.where(second - math.log(rate) < 1, np.log1p(near), np.logaddexp(first, second))
