"""What logs and pasted errors of workers, daemons and components mean.

`deaths(paths)` lists the deaths of workers with their causes; `diagnosis.diagnose` finds everything that is known in a
text.  What is known is data, in `symptoms.toml`.
"""

from ackdoctor.diagnose.deaths import Report, deaths
from ackdoctor.diagnose.findings import Death

__all__ = ["Death", "Report", "deaths"]
