"""Reading: what a trace or a log holds, as EVENTS; what could not be read is told, never dropped."""
