"""From paths to a Report: `files` are found, read by their `languages`, examined in `clusters`, `stored` for the next run, and `shown`; `analyze` is the way in."""
