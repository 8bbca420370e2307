"""Differentially private estimators with the interface of scikit-learn."""

import importlib.util

from gaugedp._internal.late import attach
from gaugedp.errors import MissingExtra

if importlib.util.find_spec("sklearn") is None:
    raise MissingExtra.needed_for("An estimator", "learn")

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
