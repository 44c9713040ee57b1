"""Diagnosis of logs and pasted errors of workers, daemons and components.

`deaths(paths)` lists the deaths of workers with their causes; `diagnosis.diagnose` finds all known symptoms in a
text.  The symptoms are data, in `symptoms.toml`.
"""

from ackdoctor.diagnose.deaths import Report, deaths
from ackdoctor.diagnose.findings import Death

__all__ = ["Death", "Report", "deaths"]
