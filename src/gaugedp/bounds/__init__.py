"""Lower bounds on the error of every pure mechanism."""

from gaugedp._internal.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
