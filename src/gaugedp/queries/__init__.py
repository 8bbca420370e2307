"""Queries: linear maps and quantiles, with their sensitivity bodies."""

from gaugedp.queries.base import Query
from gaugedp.queries.builders import (
    bounded_deviations,
    bounded_means,
    bounded_sums,
    comparisons,
    count,
    marginals,
    prefix_sums,
    product,
    ranges,
    shares,
    stack,
    weighted_count,
    workload,
)
from gaugedp.queries.linear import Workload
from gaugedp.queries.quantiles import Quantiles, quantiles
from gaugedp.queries.sampling import with_sampling_error
from gaugedp.queries.text import query

__all__ = [
    "Quantiles",
    "Query",
    "Workload",
    "bounded_deviations",
    "bounded_means",
    "bounded_sums",
    "comparisons",
    "count",
    "marginals",
    "prefix_sums",
    "product",
    "quantiles",
    "query",
    "ranges",
    "shares",
    "stack",
    "weighted_count",
    "with_sampling_error",
    "workload",
]
