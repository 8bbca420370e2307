"""Made-up guarantees for property tests."""

from hypothesis import strategies as st

from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, compose

NUMBERS = st.one_of(st.sampled_from([0.1, 0.5, 1.0, 2.0, 1e-6]), st.floats(1e-6, 5))
DELTAS = st.one_of(st.just(0.0), st.floats(1e-15, 0.01))
COMPONENTS = st.one_of(
    NUMBERS.map(PureDP), st.builds(ApproxDP, NUMBERS, DELTAS), NUMBERS.map(ZCDP), NUMBERS.map(GaussianDP)
)
COMPOSED = st.lists(st.tuples(COMPONENTS, st.integers(1, 5)), min_size=1, max_size=4).map(compose)
ANY = st.one_of(COMPONENTS, COMPOSED)
