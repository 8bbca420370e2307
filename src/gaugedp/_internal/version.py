"""Version of the library in releases, fits and pages."""

__version__ = "0.2.0"
