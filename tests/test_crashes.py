"""A run of benchmarks/crashes.py that exceeds its time limit kills its workers."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "crashes.py"
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import sys, time; pipe = open(sys.argv[1], 'w'); time.sleep(60)", sys.argv[1]])
time.sleep(60)
"""


def test_workers_die_when_a_run_exceeds_its_limit(tmp_path, monkeypatch):
    spec = spec_from_file_location("crashes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    crashes = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "crashes", crashes)
    spec.loader.exec_module(crashes)
    fifo = tmp_path / "open in the worker"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(subprocess.TimeoutExpired):
        crashes.run_to_end([sys.executable, "-c", PARENT, str(fifo)], 3)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # blocks as long as the worker lives
    os.close(reader)
