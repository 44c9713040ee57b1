"""Parse every .py file under a folder with libcst and print the CPU seconds of parsing."""

import contextlib
import sys
import time
from pathlib import Path

import libcst

texts = [path.read_bytes() for path in sorted(Path(sys.argv[1]).rglob("*.py")) if path.is_file()]
libcst.parse_module("x = 1")
start = time.process_time()
for text in texts:
    with contextlib.suppress(libcst.ParserSyntaxError, UnicodeDecodeError):
        libcst.parse_module(text)
print(time.process_time() - start)
