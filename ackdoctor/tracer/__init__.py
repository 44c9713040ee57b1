"""Watches components at work: wraps the verbs of a dialect, keeps the ledger, writes the trace."""
