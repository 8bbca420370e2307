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
from gaugedp.optimization.matrix_grams import GramScale, MatrixGrams
from gaugedp.optimization.matrix_moments import MatrixMoments, MomentScale
from gaugedp.optimization.spectraplex import NuclearBall, Spectraplex
from gaugedp.optimization.stochastic_frank_wolfe import StochasticFrankWolfe
from gaugedp.optimization.streams import ToeplitzRoot
from gaugedp.optimization.trace_designs import CountedSlope, Full, RankOne, TraceProblem, TraceScale

__all__ = [
    "Absolute",
    "CountedSlope",
    "FrankWolfe",
    "Full",
    "Geometry",
    "Gibbs",
    "GramScale",
    "Hinge",
    "Huber",
    "LeastSquares",
    "Logistic",
    "Loss",
    "MatrixDescent",
    "MatrixFrankWolfe",
    "MatrixGrams",
    "MatrixMoments",
    "MomentScale",
    "NoisyMoments",
    "NuclearBall",
    "Oja",
    "RankOne",
    "Simplex",
    "Softmax",
    "Spectraplex",
    "SphereExponential",
    "Squared",
    "StochasticFrankWolfe",
    "ToeplitzRoot",
    "TraceProblem",
    "TraceScale",
    "frank_wolfe",
]
