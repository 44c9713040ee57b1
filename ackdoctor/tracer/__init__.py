"""Traces components at run time: wraps a framework's functions, keeps a ledger of tuples, and judges runs and stored traces.

Begin with `instrument.install`, which wraps, and `ledger.component_record`, which counts; `judge` makes findings.
"""
