"""A project with one topology for the tests of `ackdoctor lab run`."""

from textwrap import dedent

FILES = {
    "topology.py": """
        from streamparse import Grouping, Topology

        from count import CountBolt
        from words import WordSpout


        class Words(Topology):
            words = WordSpout.spec()
            count = CountBolt.spec(inputs={words: Grouping.fields("word")})
        """,
    "words.py": """
        from shop import Source
        from streamparse import Spout


        class WordSpout(Spout):
            outputs = ["word"]

            def initialize(self, conf, context):
                self.source = Source(conf["queue"])

            def next_tuple(self):
                word = self.source.take()
                if word is not None:
                    self.emit([word], tup_id=word)

            def fail(self, tup_id):
                self.source.put(tup_id)
        """,
    "count.py": """
        from streamparse import Bolt


        class CountBolt(Bolt):
            def process(self, tup):
                tup.values[0].upper()
        """,
    "stubs.py": """
        QUEUE = [f"word{number}" for number in range(30)]


        class FakeSource:
            def __init__(self, name):
                assert name == "words"

            def take(self):
                return QUEUE.pop(0) if QUEUE else None

            def put(self, word):
                QUEUE.append(word)
        """,
}
STUB = ("--stub", "shop:Source=stubs:FakeSource", "--conf", "queue=words", "--seconds", "1")


def write_project(folder):
    for name, text in FILES.items():
        (folder / name).write_text(dedent(text).lstrip())
    return folder


def edit(project, name, old, new):
    text = (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, new))


def run(shell, *arguments):
    return shell("lab", "run", "topology.py", *STUB, *arguments)
