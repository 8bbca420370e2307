"""From a query to what is published: plans, the one path that charges and reads, metadata, and post-processing."""
