"""Verification of the noise against the guarantee, before the charge.

`check.verify` computes from the query what single rows add to it (`single_row`) and from the mechanism the distribution
of its noise (`noise_laws`), and compares the cost of the differences between neighbours with the guarantee that will be
charged. It shares nothing with the calibration of the noise.
"""
