"""Accountant: from Rényi curves and privacy losses to (ε, δ)."""
