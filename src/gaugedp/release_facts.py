"""What a release says beside its numbers: all of it public, and known before anything is paid."""

import json
from importlib.metadata import version
from typing import Any

import numpy as np

from gaugedp._runs import Folded, fold
from gaugedp.answer import FORMAT, LEVELS
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.ledger.base import MAX_RELEASED_BYTES
from gaugedp.planning import Plan, bonferroni_level
from gaugedp.queries.base import Query
from gaugedp.queries.estimates import for_released
from gaugedp.tables.aggregate import Rows
from gaugedp.trees import nesting

_ACCOUNT = 10_000  # bytes of a stored answer that tell of its payment, at most
_LEAST_WIDTH = 1e-200  # of an interval; a stored release holds none below 1e-250
_COUNT, _SUM = 11, 40  # of a count, packed, and of any other number, at most; a short list is far below all limits


def check_fits(facts: dict[str, Any], query: Query) -> None:
    """Refuse, before anything is paid, an answer that a ledger might not keep: how long it can get is public."""
    n_counts = int(np.count_nonzero(query.are_counts))
    public = json.dumps([facts, query.labels.facts(), [estimate.to_dict() for estimate in query.estimates]])
    longest = len(public) + _ACCOUNT + _COUNT * n_counts + _SUM * (query.n_released - n_counts)
    if longest > MAX_RELEASED_BYTES:
        raise InvalidRequest(
            f"The stored answer may take {longest / 1e9:.3g} GB: a ledger keeps {MAX_RELEASED_BYTES / 1e9:.3g} GB.",
            "Ask for fewer answers at a time.",
        )


def public_facts(query: Query, table: Rows, requested: Guarantee, seed: int | None) -> dict[str, Any]:
    """Return what a release says of a question and a table, all of it public."""
    return {
        "format": FORMAT,
        "version": version("gaugedp"),
        **about_answers(query),
        "table": table.name,
        **({} if table.domain.file is None else {"domain_file": table.domain.file}),
        "unit": table.unit.to_dict(),
        "protects": str(table.unit),
        "rules": [*table.unit.rules, *table.rules, *query.rules],
        "asked": requested.to_dict(),
        **_for_people(query, table),
        **_nested(query),
        **_impossible(query),
        "research_seed": seed,
    }


def release_facts(chosen_plan: Plan, table: Rows, seed: int | None) -> dict[str, Any]:
    """Return all that is public, before anything is paid: nothing here can fail after the data was seen."""
    return {
        **public_facts(chosen_plan.query, table, chosen_plan.asked, seed),
        "mechanism": {
            "name": chosen_plan.mechanism.name,
            "exactness": chosen_plan.mechanism.exactness,
            "noise": chosen_plan.mechanism.describe(),
            **({"in_rows": True} if chosen_plan.mechanism.in_rows else {}),
            **({"has_ranks": True} if any(part.in_rows for part in chosen_plan.mechanism.parts) else {}),
        },
        "reason": chosen_plan.reason,
        "lower_bound": chosen_plan.bound_facts(),
        "candidates": chosen_plan.table(),
        **spread(chosen_plan),
    }


def about_answers(query: Query) -> dict[str, Any]:
    """Return what is public about the answers themselves: the question, the worth of a number, the terms."""
    return {
        "query": query.text,
        "digest": query.digest(),
        "steps": fold(*zip(*((str(step), count) for step, count in query.step_runs), strict=True)),
        "counts": fold(query.are_counts),
        "terms": [outline.to_dict() for outline in query.outlines],
    }


def _for_people(query: Query, table: Rows) -> dict[str, Any]:
    """Return what names and codes are called, and the kind of frame that the rows came in; nothing where none is."""
    captions = table.domain.captions.about([*query.attributes, *query.columns]).to_dict()
    return {name: fact for name, fact in (("captions", captions), ("frame", table.frame)) if fact}


def _nested(query: Query) -> dict[str, Any]:
    """Return how the levels of trees that are asked lie in each other, for who has the release alone."""
    nested = nesting({name: query.domain.attribute(name) for name in query.attributes})
    return {"nested": nested} if nested else {}


def _impossible(query: Query) -> dict[str, Any]:
    """Return the combinations of cells that no row can have, for synthetic rows; nothing where none is known."""
    combinations = [combination.to_dict() for combination in query.domain.impossible]
    return {"impossible": combinations} if combinations else {}


def spread(chosen_plan: Plan) -> dict[str, Any]:
    """Return the widths of intervals and the deviations of the noise; none where no noise is added."""
    noise, query = chosen_plan.mechanism, chosen_plan.query

    def sizes(of_answers: np.ndarray) -> Folded:
        return fold(for_released(query.estimates, _told(query.widths_in_units(of_answers))))

    deviations = sizes(np.sqrt(noise.variances))
    if all(estimate.ends for estimate in query.estimates):
        return {"widths": None, "deviations": deviations}
    single = {str(level): sizes(noise.half_widths(level)) for level in LEVELS}
    at_once = {str(level): sizes(noise.half_widths(bonferroni_level(level), True)) for level in LEVELS}
    widths = {"single": single, "simultaneous": at_once}
    for level in LEVELS[:-1]:
        for kind, curves in chosen_plan.curves(level).items():
            widths.setdefault(kind, {})[str(level)] = fold(_told(curves.T.ravel()))
    return {"widths": widths, "deviations": deviations}


def _told(widths: np.ndarray) -> np.ndarray:
    """Return widths, the smallest rounded up to what a stored release may hold (`Release.from_json`)."""
    return np.where(widths > 0, np.maximum(widths, _LEAST_WIDTH), widths)
