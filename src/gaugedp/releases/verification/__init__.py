"""Double entry: noise is checked against the guarantee from the definitions, before the ledger is charged.

`check.verify` asks a query what single rows add to it (`single_row`), a mechanism how its noise is distributed
(`noise_laws`), and compares what the differences between neighbours cost under that law with the guarantee that is
about to be charged. Nothing here is shared with the calibration of the noise.
"""
