"""Tuned settings of the samplers. None changes the distribution of released noise."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SamplerTuning:
    """Sizes of public trial draws, of searches and of batches.

    Each comment says what a value trades, what chose it ("by hand": no benchmark did), and what doubling it does.
    """

    # Numbers of public trial draws: the error of what plans state against memory. By hand. Doubled, errors fall by √2.
    trial_numbers: int = 4 * 10**6
    # The same for noise of so many answers that fewer than 50 draws would be left in a group. By hand.
    most_trial_numbers: int = 5 * 10**7
    # Public points that decide whether noise is drawn by rejection: time to plan against the error of the stated number
    # of trials. By hand. Doubled, that error falls by √2.
    pilot_points: int = 500
    # Of these, as many must lie in the body. By hand. Doubled, rejection is refused from half as many trials on.
    pilot_inside: int = 3
    # Scale in steps up to which distributions are summed term by term; wider ones are those of continuous noise to
    # 1e-5. By hand. Doubled, sums take twice as long.
    summed_scale: float = 64.0
    # Steps of a facet walk between two inversions of its bases: time against rounding. By hand. Doubled, rounding adds
    # up over twice the steps.
    steps_between_inversions: int = 128
    # The next four describe the search for functionals that exclude points of the box around a flat body: time to plan
    # against trials of a draw. By hand; doubled: not measured. Rounds, each with the functionals found so far.
    learning_rounds: int = 4
    # Points of the box in each round.
    learning_points: int = 4096
    # Points in each round at which programs are solved, which takes most of its time.
    solved_points: int = 160
    # Functionals that are tried on all points; the others are tried on what these leave.
    first_functionals: int = 24
    # Expected trials until a point of the box is in the body. By hand. Doubled, draws take up to twice as long.
    most_trials: int = 2**14
    # Expected trials until a draw is accepted, about a second. By hand. Doubled, two seconds.
    most_work: int = 2**19
    # Public points of each group, of which directions of trial draws are chosen. By hand. Doubled: not measured.
    public_points: int = 3072
    # Directions of each group: the error of what plans state against time. By hand. Doubled, that error falls by √2.
    directions: int = 64
    # Trial draws in each direction, which share its program. By hand. Doubled, more draws depend on each other.
    radii: int = 2
    # Scales for each factor of 2 at which trial draws are rounded; others weight those of the nearest. By hand.
    # Doubled, weights are more even, and more draws are rounded.
    scales: int = 8
    # Points of the box at a time: calls against memory. By hand. Doubled, twice the memory.
    block: int = 2**14


TUNED = SamplerTuning()
