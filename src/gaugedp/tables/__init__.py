"""Tables: rows on an engine, counted and summed as integers. Only this package depends on engines."""
