"""Weights of rows, in surveys: a bounded column that the domain names."""

from collections.abc import Mapping

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.errors import InvalidRequest, UnknownName

MOST_WEIGHT = 2**20  # steps: products with 2^33 steps of a value are exact floats, and sums over 2^43 rows fit 64 bits


def check_weights(name: str | None, columns: Mapping[str, BoundedColumn]) -> None:
    """Refuse what cannot be the weights of rows."""
    if name is None:
        return
    weight = columns.get(name)
    if weight is None:
        raise UnknownName(
            f"There is no bounded column {name!r} for the weights.",
            "Describe it by low and high. If rows are aggregated by person, describe the weight of a person, such as "
            f'{name} = {{ max = "{name}" }} under [person].',
        )
    if weight.low < 0:
        raise InvalidRequest(
            f"The weight {name} may be {float(weight.low):g}, and a weight is never negative.",
            "Give low of at least 0.",
        )
    if weight.high_steps > MOST_WEIGHT:
        raise InvalidRequest(
            f"The weight {name} has {weight.high_steps:,} steps.", f"Use a coarser step: at most {MOST_WEIGHT:,} steps."
        )
