"""Run a command from a small process and print the command's peak resident memory in MB last.

Linux keeps the peak of the parent across exec, so the parent must be small.
"""

import os
import sys

child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print()
print(usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
