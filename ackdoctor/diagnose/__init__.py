"""Diagnosis of logs and pasted errors of workers, daemons and components.

`diagnosis.deaths` lists the deaths of workers with their causes; `diagnosis.diagnose` finds all known symptoms in a
text.  The symptoms are data, in `symptoms.toml`.
"""
