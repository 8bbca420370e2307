"""Convex bodies, which describe how far one unit can change the answers."""

from gaugedp.bodies.base import Body
from gaugedp.bodies.box_hull import BoxHull
from gaugedp.bodies.derived import LinearImage, MinkowskiSum
from gaugedp.bodies.ellipsoid import Ellipsoid
from gaugedp.bodies.generators import Generators, MatrixGenerators
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.operations import image, minkowski_sum, project, scaled
from gaugedp.bodies.polytope import Polytope
from gaugedp.bodies.prepare import PreparedGenerators, prepared
from gaugedp.bodies.product import Product
from gaugedp.bodies.schatten import SchattenBall
from gaugedp.bodies.volume import Volume, volume

__all__ = [
    "Body",
    "BoxHull",
    "Ellipsoid",
    "Generators",
    "LinearImage",
    "LpBall",
    "MatrixGenerators",
    "MinkowskiSum",
    "Polytope",
    "PreparedGenerators",
    "Product",
    "SchattenBall",
    "Volume",
    "image",
    "minkowski_sum",
    "prepared",
    "project",
    "scaled",
    "volume",
]
