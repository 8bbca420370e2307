"""Synthetic rows drawn from maximum-entropy models of released counts."""
