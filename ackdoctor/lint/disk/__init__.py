"""What is on disk, and what a run saw of it."""
