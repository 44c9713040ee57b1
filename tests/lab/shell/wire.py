"""The messages on the wire, in a short form: "emit ['a'] <- 1 2", "ack 1", "sync"."""

from collections.abc import Mapping
from typing import Any

from ackdoctor.lab.bench import Bench, SpoutBench

__all__ = ["NO_JSON", "OLD", "line", "raw", "wire"]

OLD = "storm-1.2.4"  # reads with json-simple, whose messages the tests quote; Storm 2.6 and later read a text as a string
NO_JSON = (
    "java.lang.ClassCastException: java.lang.String cannot be cast to "
    "org.apache.storm.shade.net.minidev.json.JSONObject"
)


def wire(bench: Bench | SpoutBench) -> list[str]:
    """Return all messages except logs."""
    return [line(message) for message in bench.messages if message["command"] != "log"]


def line(message: Mapping[str, Any]) -> str:
    command = message["command"]
    if command == "emit":
        text = f"emit {message['tuple']}"
        if message.get("anchors"):
            text += " <- " + " ".join(map(str, message["anchors"]))
        if "id" in message:
            text += f" id {message['id']}"
        return text
    return f"{command} {message['id']}" if "id" in message else str(command)


def raw(component: Any, text: str) -> None:
    """Write a frame of any text from the component."""
    component.serializer.output_stream.write(f"{text}\nend\n")
    component.serializer.output_stream.flush()
