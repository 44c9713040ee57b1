"""From paths to a Report: discover, index, analyze, cache, suppress, baseline."""
