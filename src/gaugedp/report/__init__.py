"""The report: a release as one page that needs no network, written from the release alone."""

from gaugedp.report.html import render
from gaugedp.report.plots import check_installed

__all__ = ["check_installed", "render"]
