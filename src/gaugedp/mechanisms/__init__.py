"""Calibrated randomness."""

from gaugedp.mechanisms.base import Mechanism, Prepared
from gaugedp.mechanisms.cube import Cube
from gaugedp.mechanisms.ellipsoid import EllipsoidNoise
from gaugedp.mechanisms.exponential import Exponential
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.mechanisms.identity import Identity
from gaugedp.mechanisms.knorm import KNorm
from gaugedp.mechanisms.laplace import Laplace
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.mechanisms.nim import NIM
from gaugedp.mechanisms.quality import Quality

__all__ = [
    "NIM",
    "Cube",
    "EllipsoidNoise",
    "Exponential",
    "Gaussian",
    "Identity",
    "KNorm",
    "Laplace",
    "Matrix",
    "Mechanism",
    "Prepared",
    "Quality",
]
