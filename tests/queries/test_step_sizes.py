"""The steps of a question as floats: the same numbers as the fractions, one by one."""

import numpy as np

import gaugedp as gd

DOMAIN = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 60, width=20), pay=gd.bounded(0, 1000, 10), debt=gd.bounded(0, 7))


def test_steps_and_reach_follow_the_pieces_cell_by_cell() -> None:
    matrix = gd.workload(np.array([[1.0, 0.5, 0, 0, 0, 0], [0.25, 0, 0, 0, 0, 1.0]]), DOMAIN)
    question = gd.stack(gd.query(DOMAIN, "sex*age; sum(pay) by sex; mean(debt) by age"), matrix)
    pairs = [(piece, step) for piece in question.pieces for step, count in piece.cells.step_runs for _ in range(count)]
    assert list(question.steps) == [piece.step * step for piece, step in pairs]
    assert question.steps.sizes.tolist() == [float(step) for step in question.steps]
    assert question.errors.reach.tolist() == [float(1 / step if piece.counts else piece.reach) for piece, step in pairs]
    assert len(set(question.steps)) > 2


def test_millions_of_cells_are_one_run() -> None:
    question = gd.query(gd.Domain.of(a=gd.integers(0, 1999), b=gd.integers(0, 999)), "a*b")
    assert question.steps.runs == [(1, 2_000_000)]
    assert question.errors.runs == [(1.0, 2_000_000)]
