"""A trace that grows, batch by batch: what is certain is reported once."""
