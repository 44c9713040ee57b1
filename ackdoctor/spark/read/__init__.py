"""From traces and logs to EVENTS; each file and row that is not used has a reason."""
