"""The version of the library, which releases, fits and pages name."""

__version__ = "0.2.0"
