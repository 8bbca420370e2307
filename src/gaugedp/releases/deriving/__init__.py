"""Statistics computed from an existing release."""
