"""Audits that test from outputs whether a guarantee holds.

Nothing here reads a table or spends a budget.
"""

from gaugedp._internal.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
