"""Public facts of a release, known before anything is charged."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaugedp._internal.runs import fold
from gaugedp._internal.version import __version__
from gaugedp.domain.hierarchies import nesting
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.ledger.base import MAX_RELEASED_BYTES
from gaugedp.queries.base import Query
from gaugedp.queries.linear import are_counts
from gaugedp.queries.rules import query_rules
from gaugedp.releases.answer import FORMAT
from gaugedp.releases.described import Facts, described_facts
from gaugedp.releases.planning import Plan
from gaugedp.releases.processing import processed_as_counts
from gaugedp.releases.sampling_error import contained
from gaugedp.tables.aggregate import Rows


def check_fits(facts: Mapping[str, Any], query: Query) -> None:
    """Refuse, before the charge, an answer too long for a ledger."""
    n_counts = int(np.count_nonzero(are_counts(query)))
    public = json.dumps(
        [Facts.of(facts).stored, query.labels.by_terms(), [estimate.to_dict() for estimate in query.estimates]]
    )
    # 10**5: bytes of a stored answer that tell of its payment and of p-values, at most
    # a packed count takes at most 11 bytes, another number 40
    longest = len(public) + 10**5 + 11 * n_counts + 40 * (len(query.steps) - n_counts)
    if longest > MAX_RELEASED_BYTES:
        raise InvalidRequest(
            f"The stored answer could take {longest / 1000000000.0:.3g} GB, but a ledger stores at most "
            f"{MAX_RELEASED_BYTES / 1000000000.0:.3g} GB.",
            "Request fewer answers at a time.",
        )


def public_facts(query: Query, table: Rows, requested: Guarantee, seed: int | None) -> dict[str, Any]:
    """Return the public facts about a query and a table."""
    return {
        "format": FORMAT,
        "version": __version__,
        **about_answers(query),
        "table": table.name,
        **({} if table.domain.file is None else {"domain_file": table.domain.file}),
        "unit": table.unit.to_dict(),
        "protects": str(table.unit),
        "rules": [*table.unit.rules, *table.rules, *_rules(query)],
        "asked": requested.to_dict(),
        **_for_people(query, table),
        **_nested(query),
        **_impossible(query),
        "research_seed": seed,
    }


def release_facts(chosen_plan: Plan, table: Rows, seed: int | None) -> Facts:
    """Return all public facts before the charge. Nothing in them can fail after the data was read."""
    return described_facts(public_facts(chosen_plan.query, table, chosen_plan.requested, seed), chosen_plan)


def _rules(query: Query) -> list[str]:
    """Return the rules of a query, without those for parts that only serve sampling errors."""
    parts = [part.text for part in query.parts if all(estimate.of_sampling for estimate in part.estimates)]
    hidden = tuple(f"left out of {text}." for text in parts)
    return [rule for rule in query_rules(query) if not rule.endswith(hidden)]


def about_answers(query: Query) -> dict[str, Any]:
    """Return the query, the steps of the numbers, and the terms."""
    return {
        "query": query.text,
        "digest": query.digest(),
        "steps": fold(*zip(*((str(step), count) for step, count in query.steps.runs), strict=True)),
        "counts": fold(processed_as_counts(query)),
        "terms": [outline.to_dict() for outline in query.outlines],
        "intervals": contained(query.outlines),
    }


def _for_people(query: Query, table: Rows) -> dict[str, Any]:
    captions = table.domain.captions.about([*query.attributes, *query.columns]).to_dict()
    return {name: fact for name, fact in (("captions", captions), ("frame", table.frame)) if fact}


def _nested(query: Query) -> dict[str, Any]:
    nested = nesting({name: query.domain.attribute(name) for name in query.attributes})
    return {"nested": nested} if nested else {}


def _impossible(query: Query) -> dict[str, Any]:
    combinations = [combination.to_dict() for combination in query.domain.impossible]
    return {"impossible": combinations} if combinations else {}
