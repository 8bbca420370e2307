"""Private eigenvectors of second moments."""
