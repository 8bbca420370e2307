"""`synthesize`: synthetic rows from released tables of counts only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.files import check_ending, write_csv
from gaugedp._internal.runs import whole_where_all_are
from gaugedp._internal.validate import whole
from gaugedp.domain.attributes import OTHER
from gaugedp.entropy import Entropy, system_rng
from gaugedp.queries.outline import Axis
from gaugedp.releases.answer import Release
from gaugedp.samplers.continuous import uniforms
from gaugedp.synthesis.junction_tree import JunctionTree, summed
from gaugedp.synthesis.maximum_entropy import fitted, total
from gaugedp.synthesis.measurements import ModelVariables, Released, check_size, count_terms
from gaugedp.tables.frames import make_frame


def synthesize(release: Release | Sequence[Release], n_rows: int | None = None, rng: Entropy | None = None) -> Any:
    """Draw synthetic rows that match released counts.

    Use it if software or colleagues need rows instead of tables, for example to test a program. The rows are computed
    from releases only: no table is read, and no budget is spent. They have one column for each attribute of a released
    table of counts.

    Parameters
    ----------
    release : Release or sequence of Release
        One release with tables of counts, or several releases about one table.
    n_rows : int, optional
        The number of rows to draw. By default it is estimated from the releases.
    rng : Entropy, optional
        The source of randomness. The default is that of the operating system. Use `gd.research_rng(seed)` to get the
        same rows again.

    Returns
    -------
    frame
        The rows, in a frame of the library from which the released table came, and otherwise in a pandas frame.

    Examples
    --------
    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["1", "2"] * 50})
    >>> table = gd.Table.scan(people, domain=gd.Domain.of(sex=["1", "2"]), name="people")
    >>> query, ledger = gd.query(table.domain, "sex"), gd.Ledger.in_memory(gd.PureDP(1))
    >>> gd.synthesize(gd.release(query, table, ledger=ledger, epsilon=1.0), n_rows=10).shape
    (10, 1)
    """
    return draw_rows(release, n_rows, rng).to_frame()


def draw_rows(
    release: Release | Sequence[Release], n_rows: int | None = None, rng: Entropy | None = None
) -> "SyntheticRows":
    """Draw synthetic rows, with a comparison of counts.

    Use it instead of `synthesize` to check how well the synthetic rows reproduce the released counts. The rows are
    drawn from the raw counts, without post-processing.

    Parameters
    ----------
    release : Release or sequence of Release
        One or several releases of counts, for the same table, unit and cells. They may have at most 10 million cells
        together.
    n_rows : int, optional
        The number of rows to draw. By default it is estimated from the released totals.
    rng : Entropy, optional
        The source of randomness. The default is that of the operating system.

    Returns
    -------
    SyntheticRows
        The rows, with a comparison of their counts and the released ones.

    Notes
    -----
    The rows follow the distribution of maximum entropy near the released counts, which is fitted by weighted least
    squares. Attributes that no released table contains together therefore depend on each other as little as possible.
    """
    releases = (release,) if isinstance(release, Release) else tuple(release)
    if n_rows is not None:
        whole(minimum=1, n_rows=n_rows)
    released = Released.of(releases)
    released.variables.check_possible()
    tree = released.variables.tree(table.scope for table in released.tables)
    check_size(tree.n_cells)
    stream = system_rng() if rng is None else rng
    n = max(total(released.tables), 1.0)
    laws = fitted(tree, released.tables, n)
    variables, cells = released.variables, drawn(tree, laws, round(n) if n_rows is None else n_rows, stream)
    columns = {
        name: values(level.axis, variables.cells_of(name, cells), stream) for name, level in variables.levels.items()
    }
    return SyntheticRows(releases, variables, n, cells, columns)


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Synthetic rows, with `columns` by name.

    `gd.draw_rows` returns them. Each level of a tree has a column of its own. Cells are shown by their texts, and a
    number in bins is drawn uniformly within its bin.
    """

    releases: tuple[Release, ...]
    variables: ModelVariables
    n_estimated: float
    cells: np.ndarray
    columns: dict[str, np.ndarray]

    def to_frame(self) -> Any:
        """Return a frame of the table's kind, or pandas, polars."""
        return make_frame(self.columns, self.releases[0].facts.get("frame"))

    def save_csv(self, path: str | Path) -> None:
        """Write the rows to CSV; missing numbers are empty fields."""
        write_csv(path, [{name: _fields(column) for name, column in self.columns.items()}])

    def save_parquet(self, path: str | Path) -> None:
        """Write the rows to Parquet, with NaN for missing numbers."""
        from gaugedp.tables.duckdb.engine import write_parquet

        check_ending(path, ".parquet")
        write_parquet(path, [self.columns])

    def save_beside(self, path: str | Path) -> None:
        """Write the columns of `beside` to a CSV file."""
        write_csv(path, [{name: _fields(column) for name, column in self.beside.items()}])

    @cached_property
    def beside(self) -> dict[str, np.ndarray]:
        """Synthetic and released counts next to each other, as columns.

        The columns are `query`, `cell`, the count of the synthetic `rows`, the released `estimate`, and its 95 %
        intervals, individual (`lower`, `upper`) and simultaneous (`lower_all`, `upper_all`). If `n_rows` was given,
        counts of rows are scaled to the number of rows that is estimated from the releases.
        """
        parts = [self._beside(release) for release in self.releases]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _beside(self, release: Release) -> dict[str, np.ndarray]:
        terms = list(count_terms(release))
        places = np.concatenate([np.arange(len(release.labels))[part] for _, part in terms])
        labels = [pair for _, part in terms for pair in release.labels[part]]
        numbers = {name: column[places] for name, column in release.number_columns().items()}
        return {
            "query": np.array([query for query, _ in labels], dtype=object),
            "cell": np.array([cell for _, cell in labels], dtype=object),
            "rows": np.concatenate([self._counted(term.names, term.shape) for term, _ in terms]),
            **numbers,
        }

    def _counted(self, names: Sequence[str], shape: tuple[int, ...]) -> np.ndarray:
        n_rows = len(self.cells)
        cells = [self.variables.cells_of(name, self.cells) for name in names]
        places = np.ravel_multi_index(cells, shape) if names else np.zeros(n_rows, dtype=np.int64)
        counts = np.bincount(places, minlength=int(np.prod(shape)))
        return counts if n_rows == round(self.n_estimated) else counts * (self.n_estimated / n_rows)

    def __repr__(self) -> str:
        return f"SyntheticRows({len(self.cells):,} rows, {len(self.columns)} columns)"


def _fields(column: np.ndarray) -> list[Any]:
    if column.dtype != float:
        return list(column.tolist())
    fields = column.astype(object)
    is_whole = column % 1 == 0
    fields[is_whole] = column[is_whole].astype(np.int64)
    fields[np.isnan(column)] = ""
    return list(fields)


def values(axis: Axis, cells: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return the value of each row's cell, shape (n_rows,).

    Values are texts as objects, else numbers. Numbers in bins are uniform there, and integers if all borders are. The
    cell of other values is the text "other", or no number.
    """
    if axis.borders:
        return _in_bins(np.array(axis.borders), cells, rng)
    if axis.values == "numbers":
        numbers = np.array([np.nan if text == OTHER else float(text) for text in axis.texts])
        return whole_where_all_are(numbers[cells])
    return np.array([*axis.texts, None], dtype=object)[:-1][cells]


def _in_bins(borders: np.ndarray, cells: np.ndarray, rng: Entropy) -> np.ndarray:
    low = np.append(borders[:-1], np.nan)[cells]
    width = np.append(np.diff(borders), np.nan)[cells]
    numbers = np.minimum(low + width * uniforms(len(cells), rng), np.nextafter(low + width, low))
    return whole_where_all_are(np.floor(numbers)) if (borders % 1 == 0).all() else numbers


def drawn(tree: JunctionTree, tables: Sequence[np.ndarray], n_rows: int, rng: Entropy) -> np.ndarray:
    """Return the cells of the variables (n_rows, n_variables), by clique.

    A variable is drawn given those of its clique that were drawn before it: by the junction tree it depends on no
    others. Within each group of rows that agree on these, a cell gets its expected number of rows, rounded down or up.
    """
    cells = np.zeros((n_rows, len(tree.sizes)), dtype=np.int64)
    drawn_axes = set[int]()
    for place in (0, *(edge.child for edge in tree.edges)):
        clique = tree.cliques[place]
        for name in clique:
            if name not in drawn_axes:
                before = tuple(other for other in clique if other in drawn_axes)
                table = summed(tables[place], clique, tuple(sorted((*before, name))))
                law = np.moveaxis(table, sum(other < name for other in before), -1).reshape(-1, tree.sizes[name])
                cells[:, name] = given(law, _groups(cells, before, tree.sizes), rng)
                drawn_axes.add(name)
    return cells


def _groups(cells: np.ndarray, names: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    groups = np.zeros(len(cells), dtype=np.int64)
    for name in names:
        groups = groups * sizes[name] + cells[:, name]
    return groups


def given(law: np.ndarray, groups: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return a cell for each row, by systematic sampling per group.

    Rows are in random order. The groups' grids start golden steps apart: uniformly, and neighbours deviate oppositely.
    """
    there, sizes = np.unique(groups, return_counts=True)
    sums = np.cumsum(law[there], axis=1)
    shares = np.divide(sums, sums[:, -1:], out=np.ones_like(sums), where=sums[:, -1:] > 0)
    starts = (uniforms(1, rng) + (math.sqrt(5) - 1) / 2 * np.arange(len(there))) % 1  # the golden ratio
    ends = np.ceil(sizes[:, None] * shares - starts[:, None]).astype(np.int64)
    counts = np.diff(ends, axis=1, prepend=0)
    cells = np.empty(len(groups), dtype=np.int64)
    order = np.lexsort((rng.words(len(groups)), groups))
    cells[order] = np.repeat(np.tile(np.arange(law.shape[1]), len(there)), counts.ravel())
    return cells
