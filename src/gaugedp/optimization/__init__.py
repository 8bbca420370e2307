"""Private convex optimisation: losses, geometries, and mechanisms that minimise."""

from gaugedp._internal.late import attach
from gaugedp.optimization.frank_wolfe import frank_wolfe as frank_wolfe  # not the module of the same name

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
