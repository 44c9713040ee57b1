"""From tables to findings: few rows come back to the driver, and the judges of a traced run have the word."""
