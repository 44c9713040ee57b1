"""Parse every .java file under a folder with tree-sitter and print the CPU seconds of parsing."""

import sys
import time
from pathlib import Path

import tree_sitter_java
from tree_sitter import Language, Parser

texts = [path.read_bytes() for path in sorted(Path(sys.argv[1]).rglob("*.java")) if path.is_file()]
parser = Parser(Language(tree_sitter_java.language()))
start = time.process_time()
for text in texts:
    parser.parse(text)
print(time.process_time() - start)
