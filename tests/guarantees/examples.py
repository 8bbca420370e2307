"""One table of guarantees: ordinary ones of every kind, which answer quickly, and the extremes of every kind."""

import math
from fractions import Fraction

from gaugedp.guarantees import (
    ZCDP,
    ApproxDP,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialLoss,
    FiniteLoss,
    GaussianDP,
    Grouped,
    Guarantee,
    LaplaceLoss,
    LossDistribution,
    Mixture,
    MixtureOfGaussians,
    OffsetZCDP,
    PureDP,
    RandomizedResponseLoss,
    RenyiBudget,
    RenyiDP,
    RepeatAndSelect,
    Sampled,
    SphericalLaplaceLoss,
    SubsampledGaussian,
    TruncatedPoisson,
    compose,
)

TINY = 5e-324
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
CURVE = RenyiDP([1, 1.5, 4, 64, math.inf], [0.1, 0.2, 0.4, 0.6, 1])
GROUPED_CURVE = Grouped(CURVE, 2)

ORDINARY: dict[str, list[Guarantee]] = {
    "PureDP": [PureDP(0.3), PureDP(4)],
    "ApproxDP": [ApproxDP(0.5, 1e-7), ApproxDP(1, 0)],
    "ZCDP": [ZCDP(0.05), ZCDP(2)],
    "OffsetZCDP": [OffsetZCDP(0.05, 0.2), OffsetZCDP(0, 0.5)],
    "GaussianDP": [GaussianDP(0.4), GaussianDP(3)],
    "RenyiDP": [RenyiDP([2], [0.1]), CURVE],
    "LaplaceLoss": [LaplaceLoss(0.5), LaplaceLoss(5)],
    "RandomizedResponseLoss": [RandomizedResponseLoss(1)],
    "ExponentialLoss": [ExponentialLoss(0.7)],
    "FiniteLoss": [FiniteLoss([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), FiniteLoss([0.1, 0.2, 0.7, 0], [0, 0.3, 0.6, 0.1])],
    "DiscreteLaplaceLoss": [DiscreteLaplaceLoss(2.5, 3), DiscreteLaplaceLoss(2)],
    "DiscreteGaussianLoss": [DiscreteGaussianLoss(8, 2), DiscreteGaussianLoss(1.5)],
    "SphericalLaplaceLoss": [SphericalLaplaceLoss(0.5, 2), SphericalLaplaceLoss(2, 11)],
    "LossDistribution": [
        LossDistribution(0.5, (-1, [0.25, 0.25, 0.5])),
        LossDistribution(0.1, (-2, [0.2, 0.1, 0.3, 0.1, 0.2], 0.1), (-3, [0.5, 0.0, 0.0, 0.5])),
    ],
    "SubsampledGaussian": [SubsampledGaussian(0.3, 2)],
    "TruncatedPoisson": [TruncatedPoisson(4, 0.5, 2, 2), TruncatedPoisson(100, 0.1, 101, 1)],
    "Mixture": [Mixture([0.25, 0.75], [PureDP(1), PureDP(0.3)])],
    "MixtureOfGaussians": [MixtureOfGaussians([0, 1, 2], [0.5, 0.25, 0.25], 1.5)],
    "RepeatAndSelect": [RepeatAndSelect(ZCDP(0.01), 8), RepeatAndSelect(PureDP(0.1), 4, 0)],
    "Sampled": [Sampled(PureDP(1), 0.1), Sampled(LaplaceLoss(2), 0.25, "without_replacement", "replace")],
    "Grouped": [Grouped(PureDP(0.1), 4), GROUPED_CURVE],
    "BestOrder": [RenyiBudget(1, 1e-6), RenyiBudget(2, 1e-3, [2, 8])],
    "Composed": [
        PureDP(0.1) + GaussianDP(0.5) + LaplaceLoss(3),
        5 * DiscreteLaplaceLoss(6, 2) + ApproxDP(0.1, 1e-7),
        ZCDP(0.1) + ApproxDP(0.1, 1e-8),
        compose((GaussianDP(k / 1000), k) for k in range(1, 70)) + LaplaceLoss(4),
    ],
}

EXTREME: dict[str, list[Guarantee]] = {
    "PureDP": [PureDP(0), PureDP(TINY), PureDP(1e-8), PureDP(700), PureDP(2e6), PureDP(1e308)],
    "ApproxDP": [ApproxDP(0, 1e-6), ApproxDP(TINY, TINY), ApproxDP(1, 1e-300), ApproxDP(2e6, 1 - 2.0**-53)],
    "ZCDP": [ZCDP(0), ZCDP(TINY), ZCDP(1e300)],
    "OffsetZCDP": [OffsetZCDP(0, 0), OffsetZCDP(TINY, 1e300), OffsetZCDP(1e300, TINY)],
    "GaussianDP": [GaussianDP(0), GaussianDP(TINY), GaussianDP(1e-8), GaussianDP(1e3), GaussianDP(1e200)],
    "RenyiDP": [RenyiDP(1, 0.1), RenyiDP(math.inf, 0.5), RenyiDP([1 + 1e-7, 1e9], [0, TINY]), RenyiDP(2, 1e300)],
    "LaplaceLoss": [LaplaceLoss(1e300), LaplaceLoss(1e6), LaplaceLoss(1e-3), LaplaceLoss(1e-7), LaplaceLoss(1e-300)],
    "RandomizedResponseLoss": [RandomizedResponseLoss(0), RandomizedResponseLoss(500)],
    "ExponentialLoss": [ExponentialLoss(1e-300), ExponentialLoss(1e-8), ExponentialLoss(900), ExponentialLoss(2e6)],
    "FiniteLoss": [
        FiniteLoss([1], [1]),
        FiniteLoss([1, 0], [0, 1]),
        FiniteLoss([0.1, 0.9], [0, 1]),
        FiniteLoss([THIRD, 1 - THIRD], [Fraction(1, 10**40), 1 - Fraction(1, 10**40)]),
        FiniteLoss([HALF + Fraction(1, 10**30), HALF - Fraction(1, 10**30)], [HALF, HALF]),
    ],
    "DiscreteLaplaceLoss": [
        DiscreteLaplaceLoss(1e300, 2),
        DiscreteLaplaceLoss(0.01, 2),
        DiscreteLaplaceLoss(1e-300),
        DiscreteLaplaceLoss(50, 100),
    ],
    "DiscreteGaussianLoss": [DiscreteGaussianLoss(0.01), DiscreteGaussianLoss(0.3), DiscreteGaussianLoss(1e100)],
    "SphericalLaplaceLoss": [
        SphericalLaplaceLoss(1e99, 3),
        SphericalLaplaceLoss(1e-3, 2),
        SphericalLaplaceLoss(0.05, 300),
    ],
    "LossDistribution": [
        LossDistribution(1e-4, (-10, [0.05] * 20)),
        LossDistribution(1, (0, [], 1.0)),
        LossDistribution(1, (7, [1.0]), (-900, [0.5, 0.4999999])),
    ],
    "SubsampledGaussian": [
        SubsampledGaussian(1, 2),
        SubsampledGaussian(1e-12, 1),
        SubsampledGaussian(0.5, 200),
        SubsampledGaussian(1e-6, 0.5),
        SubsampledGaussian(0.2, 0.001),
    ],
    "TruncatedPoisson": [TruncatedPoisson(1, 1, 1, 0.5), TruncatedPoisson(10**9, 1e-9, 1, 30)],
    "Mixture": [
        Mixture([1], [ZCDP(1)]),
        Mixture([0.5, 0.5], [ApproxDP(0.1, 0.5), ZCDP(0.1)]),
        Mixture([0.5, 0.25, 0.25], [FiniteLoss([1, 0], [0, 1]), PureDP(5), FiniteLoss([0.1, 0.9], [0, 1])]),
    ],
    "MixtureOfGaussians": [
        MixtureOfGaussians([0], [1], 1),
        MixtureOfGaussians([0, 1e-9], [0.5, 0.5], 1),
        MixtureOfGaussians([0, 30], [1 - 1e-9, 1e-9], 1),
    ],
    "RepeatAndSelect": [RepeatAndSelect(PureDP(0), 1), RepeatAndSelect(GaussianDP(3), 1e9, math.inf)],
    "Sampled": [
        Sampled(PureDP(700), 1e-12),
        Sampled(GaussianDP(1e-8), 0.5),
        Sampled(ApproxDP(1, 0.5), 0),
        Sampled(2 * GaussianDP(1), 1, "without_replacement", "replace"),
        Sampled(FiniteLoss([1, 0], [0, 1]), 0.3),
    ],
    "Grouped": [Grouped(ZCDP(TINY), 3), Grouped(ApproxDP(0.1, 1e-9), 2), Grouped(PureDP(0.1), 10**6)],
    "BestOrder": [RenyiBudget(0.01, 0.5, [2]), RenyiBudget(100, 1e-300)],
    "Composed": [
        10**12 * PureDP(1e-6),
        10**6 * GaussianDP(1e-3) + PureDP(TINY),
        3 * FiniteLoss([0.1, 0.9], [0, 1]) + 2 * LaplaceLoss(2),
        1000 * LaplaceLoss(1e-3),
        20 * SubsampledGaussian(0.01, 1),
        3 * SubsampledGaussian(0.01, 0.02),
        ExponentialLoss(0.5) + PureDP(0.1),
    ],
}

ALL_ORDINARY = [guarantee for guarantees in ORDINARY.values() for guarantee in guarantees]
ALL_EXTREME = [guarantee for guarantees in EXTREME.values() for guarantee in guarantees]


def named(guarantee: Guarantee) -> str:
    """Return a short name for a test."""
    text = repr(guarantee)
    return text if len(text) < 50 else f"{text[:40]}…{len(text)}"
