"""Damage a small trace in many ways, and run every command that reads traces.

    python -m tests.tracer.fuzz FIRST_SEED CASES

One line for each case that ends wrongly: an exception, an internal error, an exit code that is none, more than ten CPU
seconds.  The address space is limited, so that a case which fills memory ends wrongly, too.
"""

import contextlib
import io
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from ackdoctor.cli.trace import Cat, ReportCommand, explain_root
from ackdoctor.model import AckdoctorError
from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer import parquet, trace_files
from ackdoctor.tracer.recorder import Recorder, finish_killed
from ackdoctor.tracer.trace_files import worker_folder
from tests.trace_rows import write_lines

K = EventKind
MEMORY = 3 << 30  # bytes of address space, of which pyarrow and Python take one
SECONDS = 10
ODD: tuple[object, ...] = (
    None, True, -1, 0, 1.5, 1e308, 2**31, 2**63, -(2**63), 2**64, 10**400, "", "\ud800", "x" * 5000, "\x1b[31m", "a\nb", [], {}, [[]],
    "7", "run=1", "../..", "NaN",
)  # fmt: skip
Change = Callable[[random.Random, bytes], bytes]


def write_good(folder: Path) -> None:
    """Write a trace of each kind of file, with rows of an acker and of a component."""
    for worker in ("jsonl", "parquet", "dead"):
        pid = os.fork()
        if pid == 0:
            writer = Recorder(folder, run="r", worker=worker, seconds=3600)
            _write(writer)
            writer.flush()
            os._exit(0)
        os.waitpid(pid, 0)
    finish_killed(worker_folder(folder, "r", "parquet"))
    place = worker_folder(folder, "r", "jsonl")
    finish_killed(place)
    for part in place.glob("part-*.parquet"):
        rows = list(parquet.read_parquet(part, "", ""))
        write_lines(rows, part.with_suffix(".jsonl"))
        part.unlink()


def _write(writer: Recorder) -> None:
    bolt, stream, site = "bolt", "default", "/x/b.py:9 B.process"
    writer.write(K.NAMED, bolt, 3, site=site, note="pystorm Bolt")
    for number in range(1, 30):
        delivery = str(number)
        writer.write(K.INIT, bolt, 1, root=number, value=number)
        writer.write(K.RECEIVED, bolt, 3, stream, delivery if number % 3 else f"id {number}")
        writer.write(K.EMITTED, bolt, 3, stream, delivery, site=site, flags=4)
        if number % 5:
            writer.write(K.ACKED, bolt, 3, "", delivery, site=site)
            writer.write(K.ACK, bolt, 3, "", delivery, root=number, value=number)
        if number % 7 == 0:
            writer.write(K.ACKED, bolt, 3, "", delivery, site=site)
        writer.write(K.LINKED, bolt, 3, "", delivery, root=number, value=5)
    writer.write(K.ROTATED)
    writer.write(K.TIMED_OUT, root=5)
    writer.write(K.DIED, bolt, 3, note="killed by SIGKILL")


# ---- damage ----


def flipped(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 30))):
        if changed:
            changed[_place(chance, len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(chance: random.Random, data: bytes) -> bytes:
    return data[: _place(chance, len(data) + 1)]


def stuffed(chance: random.Random, data: bytes) -> bytes:
    at = _place(chance, len(data) + 1)
    stuff = chance.choice(
        (
            bytes(chance.randrange(200)),
            b"\xff" * 9,
            b"[" * 50_000,
            b'{"a":' * 20_000,
            b"\n\n",
            data[:100],
            b"9" * 5000,
        )
    )
    return data[:at] + stuff + data[at:]


def doubled(chance: random.Random, data: bytes) -> bytes:
    begin, end = sorted((_place(chance, len(data) + 1), _place(chance, len(data) + 1)))
    return data[:end] + data[begin:end] + data[end:]


def _place(chance: random.Random, end: int) -> int:
    """Return an offset, more often near the beginning."""
    return chance.randrange(min(end, chance.choice((64, 4_096, 1 << 30)))) if end else 0


def renamed(chance: random.Random, data: bytes) -> bytes:
    """Put odd values into lines of JSON."""
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 3))):
        at = chance.randrange(len(lines))
        try:
            row = json.loads(lines[at])
        except ValueError:
            continue
        if isinstance(row, dict) and row:
            row[chance.choice([*row, "run", "new"])] = chance.choice(ODD)
        else:
            row = chance.choice(ODD)
        lines[at] = json.dumps(row).encode()
    return b"\n".join(lines)


def odd_rows(chance: random.Random, _data: bytes) -> bytes:
    """Add rows with values that no run writes."""
    rows = []
    for number in range(chance.randrange(1, 40)):
        big = chance.choice((0, 1, -1, 2**63 - 1, -(2**63), chance.getrandbits(62)))
        text = chance.choice(
            ("", "bolt", "\x00", "a:b:c", "/x:0 y", "pystorm Bolt unobserved: ", "::", "x" * 3000)
        )
        row = Event(
            kind=chance.choice(list(EventKind)), time_ns=chance.choice((0, big, number)), seq=number,
            component=text, task=chance.choice((0, 3, -9)), delivery=chance.choice(("", "1", text)), root=big, value=big,
            site=text, thread=chance.choice(("", "T")), flags=chance.randrange(64), test=chance.choice(("", "t")), note=text,
        )  # fmt: skip
        rows.append(trace_files.line(row))
    return "\n".join(rows).encode() + b"\n"


CHANGES: tuple[Change, ...] = (flipped, flipped, cut, stuffed, doubled, renamed, odd_rows)


def damage(chance: random.Random, folder: Path) -> list[str]:
    """Damage one to three of the files; return the kinds of damage."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    done = []
    for path in chance.sample(found, chance.choice((1, 1, 2, 3))):
        kind = chance.randrange(12)
        if kind == 0:
            path.unlink()
            chance.choice(
                (path.mkdir, lambda path=path: os.mkfifo(path), lambda path=path: path.symlink_to(folder))
            )()
            done.append(f"{path.name} is no file")
        elif kind == 1:
            path.rename(path.with_name(chance.choice((
                "part-99999999999999999999-0.jsonl", ".live-1-99999999999999999999.jsonl", "part-1-0.parquet", ".live-3-000.jsonl", "part-1-0.jsonl",
            ))))  # fmt: skip
            done.append(f"{path.name} renamed")
        else:
            change = chance.choice(CHANGES)
            path.write_bytes(change(chance, path.read_bytes()))
            done.append(f"{path.name} {change.__name__}")
    return done


# ---- asking ----


def ask(folder: Path) -> list[str]:
    """Return the errors of the commands."""
    traces = [folder]
    wrong = []
    for name, command in (
        ("report", lambda: ReportCommand(traces=traces, isolated=True).run()),
        (
            "json",
            lambda: ReportCommand(
                traces=traces, isolated=True, output_format="json", message_timeout=30
            ).run(),
        ),
        ("cat", lambda: Cat(traces=traces).run()),
        ("root", lambda: explain_root("5", traces, None)),
        ("again", lambda: ReportCommand(traces=traces, isolated=True).run()),
    ):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        begun = time.process_time()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = command()
        except AckdoctorError:
            code = 2
        except BaseException:  # noqa: BLE001 - any exception is a failure
            wrong.append(f"{name}: {traceback.format_exc()}")
            continue
        for stream in (out, err):
            stream.flush()
        printed = out.buffer.getvalue() + err.buffer.getvalue()
        if b"internal error" in printed:
            at = printed.index(b"internal error")
            wrong.append(f"{name}: {printed[max(0, at - 100) : at + 200]!r}")
        if code not in {0, 1, 2}:
            wrong.append(f"{name}: exit code {code}")
        if time.process_time() - begun > SECONDS:
            wrong.append(f"{name}: {time.process_time() - begun:.0f} s")
    return wrong


def main() -> None:
    first, cases = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        good = Path(place, "good")
        write_good(good)
        for seed in range(first, first + cases):
            folder = Path(place, "case")
            shutil.copytree(good, folder)
            done = damage(random.Random(seed), folder)
            if wrong := ask(folder):
                failed += 1
                sys.stdout.write(f"seed {seed}: {'; '.join(done)}\n" + "\n".join(wrong) + "\n")
            shutil.rmtree(folder)
    sys.stdout.write(f"{cases} cases, {failed} wrong\n")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
