"""Traces components at run time: wraps a framework's functions, keeps a ledger of tuples, and judges runs and stored traces.

Live: `install` wraps, `wrappers` and `live` report to `record` and `ledger`. Stored: `recorder`, `trace_files` and
`trace_reader`. Judged: `findings`, `acker_findings` and `timeouts`; `replay` feeds a stored trace through the ledger.
"""
