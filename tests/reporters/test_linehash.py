"""GitHub's line fingerprints; the expected values are those its upload action is tested with."""

import pytest

from ackdoctor.reporters.linehash import LineHashes

GREETING = " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["c129715d7a2bc9a3:1"]),
        (
            " a\nb\n  \t\tc\n d",
            ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
        ),
        *(
            (
                GREETING.replace("\n", end),
                [
                    "e9496ae3ebfced30:1",
                    "fb7c023a8b9ccb3f:1",
                    "ce8ba1a563dcdaca:1",
                    "e20e36e16fcb0cc8:1",
                    "b3edc88f2938467e:1",
                    "c8e28b0b4002a3a0:1",
                    "c129715d7a2bc9a3:1",
                ],
            )
            for end in ("\n", "\r\n", "\r")
        ),
    ],
)
def test_lines_hash_as_the_upload_action_hashes_them(text, expected):
    hashes = LineHashes(text.encode())
    assert [hashes.of(line) for line in range(1, len(expected) + 1)] == expected


def test_equal_lines_are_told_apart_by_their_number():
    hashes = LineHashes(b"x\n" * 300)
    first, second = hashes.of(1), hashes.of(2)
    assert (first.partition(":")[0], first[-2:], second[-2:]) == (second.partition(":")[0], ":1", ":2")


def test_a_line_that_does_not_exist_has_no_hash():
    assert LineHashes(b"x\n").of(3) == ""
