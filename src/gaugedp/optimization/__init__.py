"""Private convex optimisation: losses, geometries, and mechanisms that minimise."""

from gaugedp.optimization.eigenvectors.noisy_moments import NoisyMoments
from gaugedp.optimization.eigenvectors.oja import Oja
from gaugedp.optimization.eigenvectors.sphere_exponential import SphereExponential
from gaugedp.optimization.frank_wolfe import FrankWolfe, frank_wolfe
from gaugedp.optimization.geometry import Geometry, Simplex
from gaugedp.optimization.gibbs import Gibbs
from gaugedp.optimization.least_squares import LeastSquares
from gaugedp.optimization.losses import Absolute, Hinge, Huber, Logistic, Loss, Softmax, Squared
from gaugedp.optimization.matrix_descent import MatrixDescent, MatrixFrankWolfe
from gaugedp.optimization.spectraplex import NuclearBall, Spectraplex
from gaugedp.optimization.stochastic_frank_wolfe import StochasticFrankWolfe

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
    "MatrixDescent",
    "MatrixFrankWolfe",
    "NoisyMoments",
    "NuclearBall",
    "Oja",
    "Simplex",
    "Softmax",
    "Spectraplex",
    "SphereExponential",
    "Squared",
    "StochasticFrankWolfe",
    "frank_wolfe",
]
