"""From tables to findings: few rows reach the driver, where the tracer's judges decide."""
