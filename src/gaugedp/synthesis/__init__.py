"""Synthetic rows from released tables of counts: a graphical model of most entropy, and draws from it."""
