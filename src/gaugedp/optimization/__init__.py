"""Private convex optimisation: losses, geometries, and mechanisms that minimise."""

from gaugedp.optimization.frank_wolfe import FrankWolfe, frank_wolfe
from gaugedp.optimization.geometry import Geometry, Simplex
from gaugedp.optimization.gibbs import Gibbs
from gaugedp.optimization.least_squares import LeastSquares
from gaugedp.optimization.losses import Absolute, Hinge, Huber, Logistic, Loss, Softmax, Squared

__all__ = [
    "Absolute",
    "FrankWolfe",
    "Geometry",
    "Gibbs",
    "Hinge",
    "Huber",
    "LeastSquares",
    "Logistic",
    "Loss",
    "Simplex",
    "Softmax",
    "Squared",
    "frank_wolfe",
]
