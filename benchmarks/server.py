"""Measure the time from a change of a buffer to its diagnostics, in a warm language server.

    python benchmarks/server.py [--lines 500] [--bolts 60] [--changes 60]

A project of small bolts shares a base class with one long bolt.  A client over pipes changes the long bolt, inside a
handler, and waits for the diagnostics of that version.  The yardstick is `libcst.parse_module` of the same text.
CPU time is that of the server, less that of a server with two changes, and does not depend on other load as much.
"""

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

import libcst
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path

BASE = """\
from streamparse import Bolt


class Base(Bolt):
    auto_ack = auto_anchor = auto_fail = False

    def finish(self, tup, ok):
        if ok:
            self.ack(tup)
        else:
            self.fail(tup)
"""
SMALL = """\
from base import Base


class Bolt{number}(Base):
    def process(self, tup):
        word = tup.values[0]
        if not word:
            return
        self.emit([word], anchors=[tup])
        self.finish(tup, len(word) > {number})
"""
HEAD = """\
import json
import logging

from base import Base

log = logging.getLogger(__name__)


class LongBolt(Base):
    def initialize(self, conf, ctx):
        self.seen = {}
        self.limit = conf.get("limit", 100)

"""
STEP = '''
    def step_{number}(self, tup):
        """Count the sizes in a record."""
        try:
            record = json.loads(tup.values[1])
        except ValueError:
            log.warning("bad record %r", tup.values)
            self.fail(tup)
            return
        total = {number}
        for item in record.get("items", []):
            if item["size"] > self.limit:
                self.emit([item["key"], item["size"]], anchors=[tup])
                total += item["size"]
            elif item["size"] < 0:
                log.info("negative %s", item)
                continue
        self.seen[record["id"]] = total
        if total:
            self.emit([record["id"], total], anchors=[tup])
        if record.get("final") and total > {number}:
            self.finish(tup, True)
        else:
            self.ack(tup)
'''


def long_bolt(lines: int) -> str:
    """Return a bolt of about so many lines: a handler that calls one of its steps."""
    size = STEP.count("\n") + 2
    steps = max(1, -(-(lines - HEAD.count("\n") - 6) // size))
    calls = "".join(
        f'        {"elif" if number else "if"} kind == "k{number}":\n            self.step_{number}(tup)\n'
        for number in range(steps)
    )
    handler = f"    def process(self, tup):\n        kind = tup.values[0]\n{calls}        else:\n            self.fail(tup)\n"
    return HEAD + handler + "".join(STEP.format(number=number) for number in range(steps))


async def measure(root: Path, text: str, changes: int) -> list[float]:
    """Return the milliseconds of each change."""
    client = LanguageClient("benchmark", "1")
    arrived: dict[int, asyncio.Event] = {version: asyncio.Event() for version in range(changes + 2)}

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: types.PublishDiagnosticsParams) -> None:
        if params.version is not None:
            arrived[params.version].set()

    await client.start_io(sys.executable, "-m", "ackdoctor", "server")
    capabilities = types.ClientCapabilities()
    await client.initialize_async(
        types.InitializeParams(capabilities=capabilities, root_uri=from_fs_path(str(root)))
    )
    client.initialized(types.InitializedParams())
    uri = from_fs_path(str(root / "long_bolt.py")) or ""
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 0, text))
    )
    await asyncio.wait_for(arrived[0].wait(), 120)
    await asyncio.sleep(5)  # until the whole project is checked
    spent = []
    for version in range(1, changes + 1):
        changed = text.replace("total = 0\n", f"total = {version}\n")
        document = types.VersionedTextDocumentIdentifier(version, uri)
        whole = [types.TextDocumentContentChangeWholeDocument(changed)]
        start = time.perf_counter()
        client.text_document_did_change(types.DidChangeTextDocumentParams(document, whole))
        await asyncio.wait_for(arrived[version].wait(), 60)
        spent.append(1000 * (time.perf_counter() - start))
        await asyncio.sleep(0.1)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return spent


def parse_ms(text: str) -> float:
    """Return the median milliseconds of CPU time that a parse takes."""
    spent = []
    for _ in range(20):
        start = time.process_time()
        libcst.parse_module(text)
        spent.append(1000 * (time.process_time() - start))
    return median(spent)


def children_s() -> float:
    """Return the seconds of CPU time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--bolts", type=int, default=60)
    parser.add_argument("--changes", type=int, default=60)
    options = parser.parse_args()
    text = long_bolt(options.lines)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "base.py").write_text(BASE, encoding="utf-8")
        (root / "long_bolt.py").write_text(text, encoding="utf-8")
        for number in range(options.bolts):
            (root / f"bolt_{number}.py").write_text(SMALL.format(number=number), encoding="utf-8")
        spent: list[float] = []
        before = parse_ms(text)
        marks = [children_s()]
        for changes in (2, options.changes + 2):
            spent = asyncio.run(measure(root, text, changes))
            marks.append(children_s())
        parse = (before + parse_ms(text)) / 2
    high = quantiles(spent, n=20)[-1]
    print(f"{text.count(chr(10))} lines, {options.bolts} other bolts, load {os.getloadavg()[0]:.1f}")
    print(f"change to diagnostics: median {median(spent):.0f} ms, p95 {high:.0f} ms")
    cpu = 1000 * (marks[2] - 2 * marks[1] + marks[0]) / options.changes
    print(
        f"CPU time of a change: {cpu:.0f} ms, of libcst.parse_module: {parse:.0f} ms, ratio {cpu / parse:.1f}x"
    )


if __name__ == "__main__":
    main()
