"""Weights of rows in surveys, a bounded column that the domain names, and the design of the sample."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gaugedp.domain.attributes import OTHER, Attribute, BoundedColumn
from gaugedp.domain.hierarchies import starts_in
from gaugedp.errors import InvalidRequest, UnknownName

MOST_WEIGHT = 2**20  # steps: products with 2^33 steps of a value are exact floats, and sums over 2^43 rows fit 64 bits


def check_weights(name: str | None, columns: Mapping[str, BoundedColumn]) -> None:
    """Refuse what cannot be the weights of rows."""
    if name is None:
        return
    weight = columns.get(name)
    if weight is None:
        raise UnknownName(
            f"The weights are in the column {name!r}, which is not described as a bounded column.",
            "Describe it by low and high. If rows are aggregated by person, describe the weight of a person, such as "
            f'{name} = {{ max = "{name}" }} under [person].',
        )
    if weight.low < 0:
        raise InvalidRequest(
            f"The weight {name} may be as low as {float(weight.low):g}, but weights cannot be negative.",
            "Use a `low` of at least 0.",
        )
    if weight.high_steps > MOST_WEIGHT:
        raise InvalidRequest(
            f"The weight {name} has {weight.high_steps:,} steps between 0 and `high`, but at most {MOST_WEIGHT:,} "
            "are supported.",
            "Use a coarser `step`.",
        )


@dataclass(frozen=True)
class Design:
    """Attributes that name the strata and the clusters of a sample; empty without them.

    If both are levels of one tree, it states which clusters are in a stratum. Otherwise each stratum has every cluster.
    """

    strata: str = ""
    clusters: str = ""

    def __bool__(self) -> bool:
        """Return True if there are strata or clusters."""
        return bool(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(filter(None, (self.strata, self.clusters)))

    def check(self, weights: str | None, attributes: Mapping[str, Attribute]) -> None:
        """Refuse what cannot be the design of a sample with these attributes."""
        for kind, name in (("strata", self.strata), ("clusters", self.clusters)):
            if name:
                _check_attribute(kind, name, attributes)
        if self.strata and self.strata == self.clusters:
            raise InvalidRequest(f"{self.strata} names both strata and clusters.", "Name only one of them.")
        if self and weights is None:
            raise InvalidRequest(
                "Strata or clusters describe a weighted sample, but no weights are specified.",
                "Name the column of the weights as well.",
            )
        if self.clusters and min(self._clusters_per_stratum(attributes)) < 2:
            raise InvalidRequest(
                f"At least one stratum contains a single cluster of {self.clusters}, so the variation between its "
                "clusters cannot be estimated.",
                "Merge the stratum with a similar one, or omit the clusters.",
            )

    def _clusters_per_stratum(self, attributes: Mapping[str, Attribute]) -> list[int]:
        clusters, strata = attributes[self.clusters], attributes.get(self.strata)
        if strata is None or not strata.tree or strata.tree != clusters.tree:
            return [clusters.n_cells]
        if strata.n_cells >= clusters.n_cells:
            raise InvalidRequest(
                f"The clusters {self.clusters} do not lie within the strata {self.strata}.",
                "Choose strata and clusters that are levels of one tree.",
            )
        return np.diff([*starts_in(strata, clusters), clusters.n_cells]).tolist()


NO_DESIGN = Design()


def _check_attribute(kind: str, name: str, attributes: Mapping[str, Attribute]) -> None:
    if not isinstance(name, str) or name not in attributes:
        raise UnknownName(
            f"The {kind} are given by {name!r}, which is not an attribute.",
            "List its categories under [attributes], or name another.",
        )
    if not attributes[name].has_cells:
        raise InvalidRequest(
            f"The {kind} are given by {name}, whose categories are not known in advance.",
            "List them: the categories of a sampling design are public.",
        )
    if kind == "clusters" and attributes[name].outside == OTHER:
        raise InvalidRequest(
            f'The clusters {name} have an additional cell "{OTHER}", which is not a cluster of the sample.',
            'Use outside = "drop", and list all clusters.',
        )
