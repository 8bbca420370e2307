"""Coefficients relative to reference levels, with intervals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaugedp._internal.names import parts, plain
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.estimators.held_out import LEVEL
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.optimization.best_weights import NormalMixture


@dataclass(frozen=True)
class Contrasts:
    """Effects of cells relative to their attribute's reference cell.

    The reference is the first cell unless `chosen` names another. A model has a coefficient for every cell and a
    constant, so only differences between cells' coefficients are meaningful.
    """

    design: TableDesign
    chosen: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, design: TableDesign, text: str | None) -> "Contrasts":
        """Return the contrasts in a text such as "SEX=2, EDU=12"; refuse unknown cells."""
        chosen: dict[str, str] = {}
        for part in parts(text or "", ","):
            name, mark, cell = part.partition("=")
            if not part:
                continue
            if not mark or plain(name) not in design.attributes:
                raise UnknownName.among("attribute among the features", plain(name), design.attributes)
            if plain(cell) not in (labels := design.domain.attribute(plain(name)).labels):
                raise UnknownName.among(f"cell of {plain(name)}", plain(cell), list(labels))
            if plain(name) in chosen:
                raise InvalidRequest(f"{plain(name)} has two reference levels.", "Name only one.")
            chosen[plain(name)] = plain(cell)
        return cls(design, chosen)

    @property
    def reference(self) -> dict[str, str]:
        """Reference cell of each attribute."""
        return {
            name: self.chosen.get(name, self.design.domain.attribute(name).labels[0]) for name in self.design.attributes
        }

    def facts(self, law: NormalMixture) -> dict[str, Any]:
        """Return estimates, standard errors and intervals, for JSON."""
        rows, names = self._matrix()
        of_contrasts = law.mapped(rows, np.zeros(len(rows)))
        low, high = of_contrasts.interval(LEVEL)
        columns = (of_contrasts.median, of_contrasts.deviations, low, high)
        keys = ("estimate", "standard_error", "lower", "upper")
        lines = [dict(zip(keys, map(float, line), strict=True)) for line in zip(*columns, strict=True)]
        return {"level": LEVEL, "reference": self.reference, "coefficients": dict(zip(names, lines, strict=True))}

    def _matrix(self) -> tuple[np.ndarray, list[str]]:
        size = self.design.n_features + 1
        constant, rows, names, start = np.eye(size)[-1], [], [], 0
        for name in self.design.attributes:
            labels = self.design.domain.attribute(name).labels
            first = np.eye(size)[start + labels.index(self.reference[name])]
            others = [i for i, label in enumerate(labels) if label != self.reference[name]]
            rows += [np.eye(size)[start + i] - first for i in others]
            names += [f"{name}={labels[i]}" for i in others]
            constant, start = constant + first, start + len(labels)
        for place, name in enumerate(self.design.columns, start):
            column = self.design.domain.column(name)
            slope = np.eye(size)[place] / (float(column.high - column.low) / 2)
            rows.append(slope)
            names.append(name)
            constant = constant - slope * float(column.high + column.low) / 2
        return np.array([*rows, constant]), [*names, "intercept"]
