"""Privacy guarantees, their composition, and budgets."""

from gaugedp._internal.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are in __init__.pyi
for _name in __all__:  # eagerly: a kind of guarantee registers itself when its module is imported
    __getattr__(_name)
