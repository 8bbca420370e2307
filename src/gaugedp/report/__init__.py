"""The report: a release as one page that needs no network, written from the release alone."""

from gaugedp.report.html import render
from gaugedp.report.plots import check_installed
from gaugedp.report.tradeoff import tradeoff_svg

__all__ = ["check_installed", "render", "tradeoff_svg"]
