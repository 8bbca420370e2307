"""Reports: pages that need no network, from releases only."""

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
