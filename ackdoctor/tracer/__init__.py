"""Watches components at work: wraps the functions that a framework's messages pass, keeps the ledger, writes and judges the trace."""
