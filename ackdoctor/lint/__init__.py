"""Static analysis of a tree: `run.lint` turns paths and settings into a Report."""
