"""Bolts that assign to a name a value made from the name itself: `flag = not flag`.

Each kind of value, in each place for it, before each kind of use.
"""

from collections.abc import Iterator
from itertools import product

__all__ = ["java_bolts", "python_bolts"]

_PYTHON_STARTS = ("bool(tup.values[0])", "self.waiting", "tup", "[tup]", "lambda: tup")
_PYTHON_VALUES = (
    "not x", "not not x", "x and y", "y or x", "x or not x", "x == y", "x < 1", "x is None", "x in x", "x not in y",
    "-x", "~x", "x + 1", "x - 1", "x % 2", "x * x", "'a' + x", "f'{x}'", "'%s' % x", "1 if x else 2", "x if not x else -x",
    "(x, x)", "[x]", "[x, *x]", "{x: x}", "x[0]", "x[x]", "x[1:]", "x.next", "x()", "x(x)", "x.items()", "len(x)", "str(x)",
    "bool(x)", "isinstance(x, int)", "lambda: x", "[z for z in x]", "iter(x)", "next(x)", "sorted(x)", "x.get(x)",
    "x.split(',')", "partial(x, x)", "lambda: (x, y)", "(x := not x)", "self.turned(x)", "range(x)", "list(x.values())", "x.isEmpty()",
)  # fmt: skip
_PYTHON_STATEMENTS = (
    "x, y = y, x", "x, y = not y, not x", "x += x", "x -= 1", "x[0] = x", "x.a = x", "self.x = x = not x", "x = y = not x",
    "(x, y), z = (y, x), x", "x = y; y = x", "x = not y; y = not x", "self.x = not self.x; x = self.x", "del x; x = not x",
)  # fmt: skip
_PYTHON_PLACES = (
    "{0}",
    "if tup.values[1]:\n    {0}",
    "for z in tup.values:\n    {0}",
    "while x:\n    {0}",
    "try:\n    {0}\nexcept ValueError:\n    x = not x",
    "def turn():\n    nonlocal x, y\n    {0}\nturn()",
    "for z in tup.values:\n    for w in z:\n        {0}\n        y = [x, y]",
    "with self.lock:\n    {0}\n    {0}",
)
_PYTHON_USES = (
    "if not x:\n    self.ack(tup)",
    "if not x:\n    self.waiting.sort()\nself.waiting.append(tup)",
    "while x < y:\n    x = x + 1\n    self.ack(tup)",
    "for z in x:\n    self.emit([z], anchors=[x])\nif x:\n    self.fail(tup)\nif not x:\n    self.ack(tup)",
    "self.pending[x] = tup\nif len(x) > 0:\n    self.ack(self.pending.pop(x))",
    "self.pending[str(x)] = (tup, x)\nfor x in self.pending[x]:\n    self.ack(x)",
)
_PYTHON = """\
class B{number}(Bolt):
    auto_ack = False

    def process(self, tup):
        self.store(tup, {start}, y=tup)

    def store(self, tup, x, y):
{body}
"""
_JAVA_VALUES = (
    "!x", "!!x", "x && y", "y || x", "x == y", "x ? y : x", "-x", "~x", "x + 1", "x - 1", "x % 2", "x * x", '"a" + x',
    "x + 'a'", "x < 1", "x instanceof Integer", "x.next", "x.next()", "x.get(x)", "x[x]", "x.size()", "x.isEmpty()",
    "x.iterator()", "String.valueOf(x)", "Boolean.valueOf(x)", "new Object[] {x, x}", "Arrays.asList(x, x)", "(Object) x",
    "(x)", "() -> x", "x.entrySet()", "x++", "++x", "x = !x", "turned(x)", "x.trim()", "x.equals(y)", "Optional.of(x)",
)  # fmt: skip
_JAVA_STATEMENTS = (
    "y = x; x = y;", "x += x;", "x ^= true;", "x -= 1;", "x++;", "this.x = !this.x; x = this.x;", "x.a = x;", "x[0] = x;",
    "Object z = x; x = y; y = z;",
)  # fmt: skip
_JAVA_PLACES = (
    "{0}",
    "if (t.getBoolean(1)) {{ {0} }}",
    "for (Object z : t.getValues()) {{ {0} }}",
    "while (x) {{ {0} }}",
    "do {{ {0} }} while (x);",
    "try {{ {0} }} catch (RuntimeException e) {{ x = !x; }} finally {{ {0} }}",
    "switch (x) {{ case 1: {0} break; default: {0} }}",
    "Runnable r = () -> {{ {0} }}; r.run();",
)
_JAVA_USES = (
    "if (!x) collector.ack(t);",
    "if (!x) waiting.clear(); waiting.add(t);",
    "while (x < y) { x = x + 1; collector.ack(t); }",
    "for (Tuple z : x) { collector.emit(x, new Values(z)); } if (x) collector.fail(t); if (!x) collector.ack(t);",
    "pending.put(x, t); if (x.size() > 0) collector.ack(pending.remove(x));",
)
_JAVA = """\
class B{number} extends BaseRichBolt {{
  private OutputCollector collector; private boolean x; private List<Tuple> waiting = new ArrayList<>();
  private Map<Object, Tuple> pending = new HashMap<>();
  public void prepare(Map<String, Object> m, TopologyContext c, OutputCollector o) {{ collector = o; }}
  public void execute(Tuple t) {{ store(t, t.getBoolean(0), t); }}
  void store(Tuple t, {type} x, {type} y) {{
    {body}
  }}
}}
"""
_PYTHON_HEAD = "from streamparse import Bolt\n\n\n"
_JAVA_HEAD = """\
import java.util.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.*;

"""


def python_bolts() -> Iterator[str]:
    """Yield the source of each bolt."""
    changes = (*(f"x = {value}" for value in _PYTHON_VALUES), *_PYTHON_STATEMENTS)
    for number, (change, place, use) in enumerate(product(changes, _PYTHON_PLACES, _PYTHON_USES)):
        body = f"{place.format(change)}\n{use}"
        indented = "\n".join(f"        {line}" for line in body.split("\n"))
        start = _PYTHON_STARTS[number % len(_PYTHON_STARTS)]
        yield _PYTHON_HEAD + _PYTHON.format(number=number, start=start, body=indented)


def java_bolts() -> Iterator[str]:
    """Yield the source of each bolt."""
    changes = (*(f"x = {value};" for value in _JAVA_VALUES), *_JAVA_STATEMENTS)
    for number, (change, place, use) in enumerate(product(changes, _JAVA_PLACES, _JAVA_USES)):
        kind = ("boolean", "Object", "List<Tuple>", "String", "int")[number % 5]
        body = f"{place.format(change)}\n    {use}"
        yield _JAVA_HEAD + _JAVA.format(number=number, type=kind, body=body)
