"""Upper bounds on what leaks: guarantees, their composition, and budgets."""

from gaugedp.accountant.bound import Bound
from gaugedp.guarantees import divergences
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.bounded_range import ExponentialLoss
from gaugedp.guarantees.budget import Budget, Filter, RenyiBudget
from gaugedp.guarantees.calibrate import (
    discrete_gaussian_std,
    discrete_laplace_scale,
    gaussian_std,
    laplace_scale,
    subsampled_noise_multiplier,
)
from gaugedp.guarantees.composed import Composed, compose
from gaugedp.guarantees.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from gaugedp.guarantees.events import from_event, from_pld, to_event
from gaugedp.guarantees.finite import FiniteLoss
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.groups import Grouped, group_factor
from gaugedp.guarantees.json import from_dict, from_json, to_json
from gaugedp.guarantees.laplace import LaplaceLoss
from gaugedp.guarantees.loss_distribution import LossDistribution
from gaugedp.guarantees.membership import MembershipRisk, MembershipTest
from gaugedp.guarantees.mixture import Mixture
from gaugedp.guarantees.mixture_of_gaussians import MixtureOfGaussians
from gaugedp.guarantees.odometer import Odometer
from gaugedp.guarantees.offset_zcdp import OffsetZCDP
from gaugedp.guarantees.probability import probability_range
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.renyi import RenyiDP
from gaugedp.guarantees.repeat_and_select import RepeatAndSelect
from gaugedp.guarantees.response import RandomizedResponseLoss
from gaugedp.guarantees.sampled import Sampled
from gaugedp.guarantees.spherical import SphericalLaplaceLoss
from gaugedp.guarantees.subsampled import SubsampledGaussian
from gaugedp.guarantees.truncated_sample import TruncatedPoisson, truncated_poisson
from gaugedp.guarantees.width import interval_noise
from gaugedp.guarantees.zcdp import ZCDP

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Bound",
    "Budget",
    "Composed",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "ExponentialLoss",
    "Filter",
    "FiniteLoss",
    "GaussianDP",
    "Grouped",
    "Guarantee",
    "LaplaceLoss",
    "LossDistribution",
    "MembershipRisk",
    "MembershipTest",
    "Mixture",
    "MixtureOfGaussians",
    "Odometer",
    "OffsetZCDP",
    "PureDP",
    "RandomizedResponseLoss",
    "RenyiBudget",
    "RenyiDP",
    "RepeatAndSelect",
    "Sampled",
    "SphericalLaplaceLoss",
    "SubsampledGaussian",
    "TruncatedPoisson",
    "compose",
    "discrete_gaussian_std",
    "discrete_laplace_scale",
    "divergences",
    "from_dict",
    "from_event",
    "from_json",
    "from_pld",
    "gaussian_std",
    "group_factor",
    "interval_noise",
    "laplace_scale",
    "probability_range",
    "subsampled_noise_multiplier",
    "to_event",
    "to_json",
    "truncated_poisson",
]
