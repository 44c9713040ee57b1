"""Runs a command from a process too small to matter; prints its peak resident memory in MB last.

A child starts with its parent's peak to its name (Linux keeps it across exec), so the parent must be small.
"""

import os
import sys

child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print()
print(usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
