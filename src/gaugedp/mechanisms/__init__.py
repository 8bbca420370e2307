"""Calibrated randomness."""

from gaugedp.mechanisms.base import Mechanism, Prepared
from gaugedp.mechanisms.cube import Cube
from gaugedp.mechanisms.ellipsoid import EllipsoidNoise
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.mechanisms.identity import Identity
from gaugedp.mechanisms.knorm import KNorm
from gaugedp.mechanisms.laplace import Laplace
from gaugedp.mechanisms.matrix import Matrix
from gaugedp.mechanisms.nim import NIM

__all__ = [
    "NIM",
    "Cube",
    "EllipsoidNoise",
    "Gaussian",
    "Identity",
    "KNorm",
    "Laplace",
    "Matrix",
    "Mechanism",
    "Prepared",
]
