"""Calibrated randomness."""

from gaugedp.mechanisms.base import Mechanism, Prepared
from gaugedp.mechanisms.gaussian import Gaussian
from gaugedp.mechanisms.identity import Identity
from gaugedp.mechanisms.laplace import Laplace

__all__ = ["Gaussian", "Identity", "Laplace", "Mechanism", "Prepared"]
