"""Floating-point tolerances, each a multiple of the unit roundoff."""

UNIT = 2.0**-53  # rounding to the nearest float changes a number by at most this share
PARAMETERS = 2**13 * UNIT  # 2^−40: of a parameter, after a few dozen operations
NORMS = 2**23 * UNIT  # 2^−30: of norms and products of rows of up to a million entries
TRANSFORMS = 2**25 * UNIT  # 2^−28: of products of up to 10^7 factors, and of fast Fourier transforms
TABLES = 2**29 * UNIT  # 2^−24: of a number of either of two sums of up to 2^28, times √2
SCORES = 2**33 * UNIT  # 2^−20: of sums of vectors of norm 1, cut to 2^−22
INTEGERS = 2**53  # floats represent integers exactly up to here
OVERFLOW = 700.0  # e^x is a float up to here, also times a hundred
NORMAL_TAIL = 39.0  # deviations beyond which the normal distribution has no weight in floats
