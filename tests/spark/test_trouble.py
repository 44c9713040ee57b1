"""What a JVM says on its way, and what of that a user gets to read."""

import os
import subprocess
import sys

from ackdoctor.spark.trouble import hushed

TALK = "import sys; print('to stdout'); print('to stderr', file=sys.stderr)"


def test_what_is_launched_while_hushed_says_nothing_on_either_stream(capfd):
    with hushed() as said:
        subprocess.run([sys.executable, "-c", TALK], check=True)
        said.seek(0)
        chatter = said.read().decode()
    os.write(1, b"mine\n")
    assert sorted(chatter.splitlines()) == ["to stderr", "to stdout"]
    assert capfd.readouterr() == ("mine\n", "")
