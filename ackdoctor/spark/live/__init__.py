"""The same of a trace that still grows, batch by batch: what is certain is told, once."""
