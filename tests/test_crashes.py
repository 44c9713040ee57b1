"""The benchmark that lints whole trees leaves nothing behind."""

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


def test_the_workers_of_a_run_end_with_it_at_its_limit(tmp_path, monkeypatch):
    spec = spec_from_file_location("crashes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    crashes = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "crashes", crashes)
    spec.loader.exec_module(crashes)
    fifo = tmp_path / "held by the worker"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(subprocess.TimeoutExpired):
        crashes.ended([sys.executable, "-c", PARENT, str(fifo)], 3)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # would wait for a worker that lives on
    os.close(reader)
