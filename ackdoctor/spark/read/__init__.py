"""From traces and logs to EVENTS; whatever cannot be read is named with its reason."""
