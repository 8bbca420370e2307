"""The report: a release as one page that needs no network, written from the release alone."""

from gaugedp.report.curves import mechanism_curves, mechanism_rows, mechanism_table, renyi_svg, tradeoff_svg
from gaugedp.report.html import render
from gaugedp.report.plots import check_installed

__all__ = [
    "check_installed",
    "mechanism_curves",
    "mechanism_rows",
    "mechanism_table",
    "render",
    "renyi_svg",
    "tradeoff_svg",
]
