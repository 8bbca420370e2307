"""Norms as convex bodies: what a question's answer can change by."""

from gaugedp.bodies.base import Body
from gaugedp.bodies.generators import Generators, MatrixGenerators
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.polytope import Polytope

__all__ = ["Body", "Generators", "LpBall", "MatrixGenerators", "Polytope"]
