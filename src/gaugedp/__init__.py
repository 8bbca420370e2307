"""Differential privacy shaped to the geometry of the question."""

from gaugedp._late import attach

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
