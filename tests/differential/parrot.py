"""A bolt or spout that writes the frames in its input: a tuple's value, or an acked id, is a JSON list of frames.

`$READ` reads task ids and reports them; `$EXIT` ends the process.
"""

import json
import os
import sys


def read() -> object:
    lines: list[str] = []
    for line in sys.stdin:
        if line == "end\n":
            return json.loads("".join(lines))
        lines.append(line)
    sys.exit(0)


def write(text: str) -> None:
    sys.stdout.write(f"{text}\nend\n")
    sys.stdout.flush()


def main() -> None:
    read()
    write(json.dumps({"pid": os.getpid()}))
    while True:
        message = read()
        if not isinstance(message, dict) or message.get("stream") == "__heartbeat":
            continue
        spout = "command" in message
        for frame in json.loads(message["id"] if spout else message["tuple"][0]):
            if frame == "$EXIT":
                return
            if frame == "$READ":
                write(json.dumps({"command": "error", "msg": f"task ids {read()}"}))
            else:
                write(frame)
        write(json.dumps({"command": "sync"} if spout else {"command": "error", "msg": "done"}))


if __name__ == "__main__":
    main()
