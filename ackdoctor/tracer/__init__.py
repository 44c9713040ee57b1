"""Watches components at work: wraps the functions that a framework's messages pass, keeps the ledger, writes and judges the trace.

Begin with `instrument.install`, which wraps, and `ledger.book`, which counts; `judge` makes findings of both.
"""
