"""Tables: rows on an engine, counted and summed as integers. The only folder that knows an engine."""
