"""Labels are made when they are looked at, and are a list to whoever looks."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given

import gaugedp as gd
from gaugedp.queries import labels
from gaugedp.queries.labels import Labels
from tests.queries.strategies import examples, stacks

DOMAIN = gd.Domain.of(a=gd.integers(1, 4), s=["u", "w"], v=gd.bounded(0, 9))
QUESTIONS = {
    "cells": gd.query(DOMAIN, "count; a*s; mean(v) by s"),
    "ordered": gd.query(DOMAIN, "prefix(a); ranges(a)"),
    "products": gd.product(gd.ranges(DOMAIN, "a"), gd.marginals(DOMAIN, "s")),
    "rows": gd.workload(np.eye(8), DOMAIN),
    "quantiles": gd.query(DOMAIN, "quantiles(v, 0.25, 0.5) by a"),
}


@examples(60)
@given(stacks())
def test_each_label_is_the_same_by_its_number_and_in_turn(query) -> None:
    listed = list(query.labels)
    assert [query.labels[place] for place in range(len(listed))] == listed
    assert query.labels[-1] == listed[-1]
    assert query.labels[1:4] == listed[1:4]
    assert (query.labels, listed) == (listed, query.labels)
    assert list(query.labels.cells()) == [cell for _, cell in listed]
    with pytest.raises(IndexError):
        _ = query.labels[len(listed)]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_words_of_very_many_answers_are_written_in_place_of_their_labels(name: str, monkeypatch) -> None:
    made = QUESTIONS[name].labels
    assert json.loads(json.dumps(made.facts())) == [list(pair) for pair in made]
    monkeypatch.setattr(labels, "_WRITTEN_OUT", 0)
    facts = json.loads(json.dumps(made.facts()))
    assert [term["query"] for term in facts] == [text for text, _ in made.terms]
    assert Labels.of(facts) == made
    assert [len(cells) for _, cells in Labels.of(list(made)).terms] == [len(cells) for _, cells in made.terms]


def test_labels_that_differ_anywhere_are_not_equal() -> None:
    made = QUESTIONS["cells"].labels
    assert made != list(made)[:-1]
    assert made != [*list(made)[:-1], ("mean(v) by s", "s=x")]
    assert made != 7
    with pytest.raises(TypeError):
        hash(made)


@pytest.mark.parametrize("cells", [{"rows": "3"}, {"spans": ["x"]}, 3, None])
def test_words_of_no_kind_are_refused(cells: object) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        Labels.of([{"query": "x", "cells": [cells]}])


def test_the_labels_of_tens_of_millions_of_answers_take_no_room() -> None:
    domain = gd.Domain.of(**{name: gd.integers(1, 300) for name in "abc"})
    tracemalloc.start()
    made = gd.query(domain, "a*b*c").labels
    assert len(made) == 27_000_000
    assert made[300 * 300 * 7 + 5] == ("a*b*c", "a=8, b=1, c=6")
    assert repr(made).endswith("27,000,000 in total]")
    assert tracemalloc.get_traced_memory()[1] < 2e6
    tracemalloc.stop()
