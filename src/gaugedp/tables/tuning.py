"""Tuned settings of tables. They trade time for memory; no answer depends on them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TableTuning:
    """Sizes at which the way of counting rows changes.

    Each comment says what a value trades, what chose it ("by hand": no benchmark did), and what doubling it does.
    """

    # Up to so many joint cells, all attributes are grouped at once and the result is regrouped: one pass against the
    # memory of its cells. By hand. Doubled, a result has up to twice the cells.
    joint_cells: int = 2**20
    # From so many tables on, rows are returned and counted here, as grouping takes the engine longer. By hand. Doubled,
    # 32 to 63 large tables are grouped.
    many_tables: int = 32
    # Cells of a product of matrices for each table of two attributes, up to which it is as fast as counting. By hand.
    # Doubled: not measured.
    product_cells: int = 64
    # Up to so many cells of the finest levels, these are counted and coarser ones added up: one pass against memory. By
    # hand. Doubled, a result has up to twice the cells.
    fine_cells: int = 2**20
    # Bytes of text that are converted at once: calls against memory. By hand. Doubled, twice the memory.
    text_bytes: int = 2**18


TUNED = TableTuning()
