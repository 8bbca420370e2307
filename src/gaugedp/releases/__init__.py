"""Plans, releases, their metadata and post-processing."""
