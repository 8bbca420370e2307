"""From guarantees to (ε, δ): the rules, and the tight accountant."""
