"""Calibrated randomness."""

from gaugedp.mechanisms.above_threshold import AboveThreshold
from gaugedp.mechanisms.base import AdditiveNoise, Calibrated, Mechanism, Prepared
from gaugedp.mechanisms.cube import Cube
from gaugedp.mechanisms.ellipsoid import EllipsoidNoise
from gaugedp.mechanisms.exponential import Exponential
from gaugedp.mechanisms.exponential_density import ExponentialDensity
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.mechanisms.identity import Identity
from gaugedp.mechanisms.knorm import KNorm
from gaugedp.mechanisms.laplace import Laplace
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.mechanisms.nim import NIM
from gaugedp.mechanisms.noisy_max import NoisyMax
from gaugedp.mechanisms.partition_selection import PartitionSelection
from gaugedp.mechanisms.peeling import Peeling
from gaugedp.mechanisms.permute_and_flip import PermuteAndFlip
from gaugedp.mechanisms.quality import Quality
from gaugedp.mechanisms.randomized_response import RandomizedResponse
from gaugedp.mechanisms.rank_exponential import RankExponential
from gaugedp.mechanisms.rank_tree import RankTree
from gaugedp.mechanisms.rank_verified import RankVerified
from gaugedp.mechanisms.selection import Selection
from gaugedp.mechanisms.staircase import Staircase

__all__ = [
    "NIM",
    "AboveThreshold",
    "AdditiveNoise",
    "Calibrated",
    "Cube",
    "EllipsoidNoise",
    "Exponential",
    "ExponentialDensity",
    "Gaussian",
    "Identity",
    "KNorm",
    "Laplace",
    "Matrix",
    "Mechanism",
    "NoisyMax",
    "PartitionSelection",
    "Peeling",
    "PermuteAndFlip",
    "Prepared",
    "Quality",
    "RandomizedResponse",
    "RankExponential",
    "RankTree",
    "RankVerified",
    "Selection",
    "Staircase",
]
