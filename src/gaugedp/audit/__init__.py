"""Audits: what runs of a mechanism prove about its guarantee, whoever wrote it.

Nothing here reads a table or spends a budget.
"""

from gaugedp.audit.canaries import OneRun, audit_canaries, one_run
from gaugedp.audit.distinguish import audit
from gaugedp.audit.noise import noise_tests
from gaugedp.audit.result import Audit, Test
from gaugedp.audit.tracing import Tracing, tracing_attack, tracing_power

__all__ = [
    "Audit",
    "OneRun",
    "Test",
    "Tracing",
    "audit",
    "audit_canaries",
    "noise_tests",
    "one_run",
    "tracing_attack",
    "tracing_power",
]
