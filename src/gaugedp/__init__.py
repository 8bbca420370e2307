"""Differential privacy shaped to the geometry of the query."""

from gaugedp._internal.displays import drawings_are_in
from gaugedp._internal.late import attach
from gaugedp._internal.version import __version__ as __version__

drawings_are_in("gaugedp.report.displays")
__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
