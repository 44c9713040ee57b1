"""The graphs of every construct, compared as text."""

import textwrap

import pytest

from tests.frontends.python.lowered import picture, unit

SOURCES = {
    "branches": """
        def elif_chain(a):
            if a == 1:
                one()
            elif a == 2:
                two()
            else:
                other()
            last()

        def short_circuits(a, b, c):
            if a and (b or not c):
                yes()

        def chained(a, b, c):
            if a < b() < c:
                yes()

        def constants(a):
            if True:
                first()
            if 0 or a:
                second()
            return not a

        def asserted(a):
            assert a.ok, message(a)
            return a
        """,
    "values": """
        def ternary(a, b):
            return f(a if b else g(b))

        def default(a, b):
            x = a.get("k") or b or []
            return x

        def walrus(a):
            if (n := len(a)) > 10 and (m := f(n)):
                return m

        def literals():
            return [1, -2, 0x1F, 1.5, "a\\n" 'b', b"c", None, True, ..., {"k": 1, **d}, {1, 2}, (1, *e)]

        def texts(a):
            return f"{a.b!r:>{w}} and {f(a)}"

        def items(a):
            return a[0], a[-1], a["k"], a[1:], a[i, ::2], a + a + a - a * 2
        """,
    "assignments": """
        def nested(t):
            a, (b, [c, *d]), self.e = t

        def chain():
            a = self.b[0] = f()

        def augmented(a):
            a += 1
            a.n -= f(a)

        def annotated(a):
            x: int
            y: int = a

        def deleted(a, b):
            del a.x, (b[0], b)

        def scopes():
            global total
            total = 1
            def inner():
                nonlocal count
                count = total
            count = 0
            return inner
        """,
    "loops": """
        def for_else(items):
            for item in items:
                if item.skip:
                    continue
                if item.last:
                    break
                use(item)
            else:
                missing()
            done()

        def while_else(queue):
            while queue and not stop():
                queue.pop()
            else:
                empty()

        def forever(q):
            while True:
                tup = q.get()
                if tup is None:
                    return

        def unpacked(pairs):
            for key, (a, b) in pairs.items():
                use(key, a, b)

        def nested(rows):
            for row in rows:
                for cell in row:
                    if cell:
                        break

        async def asynchronous(source):
            async for item in source:
                await use(item)
        """,
    "tries": """
        def handlers(t):
            try:
                x = t.values[0]
                a, b = x
            except (ValueError, json.JSONDecodeError) as e:
                log(e)
            except KeyError:
                raise
            except:
                pass
            else:
                good(x)
            after()

        def cleanup(t):
            try:
                if t.bad:
                    return None
                work(t)
            finally:
                close()
            after()

        def leaving_a_loop(items):
            for item in items:
                try:
                    if item.a:
                        break
                    if item.b:
                        continue
                    if item.c:
                        return item
                finally:
                    release(item)

        def nested_cleanup(t):
            try:
                try:
                    work(t)
                finally:
                    inner()
            finally:
                outer()

        def overriding():
            while True:
                try:
                    return work()
                finally:
                    break

        def catches_nothing_that_raises(self):
            try:
                x = self.count
            except AttributeError:
                x = 0
            return x

        def from_cause(e):
            try:
                work()
            except ValueError as error:
                raise Wrapped(e) from error

        def groups():
            try:
                work()
            except* ValueError as group:
                log(group)
        """,
    "withs": """
        import contextlib
        from contextlib import suppress

        def managed(path):
            with open(path) as handle, lock:
                use(handle)
            after()

        def swallowed(d):
            with suppress(KeyError, errors.Missing):
                d.use()
            with contextlib.suppress(Exception):
                return d.use()
            after()

        async def asynchronous(s):
            async with s.get() as (a, b):
                await a
        """,
    "matches": """
        def commands(m):
            match m.command:
                case "ack" | "fail" as word:
                    done(word)
                case None:
                    nothing()
                case Tick(source, id=ident) if ident > 0:
                    tick(ident)
                case [first, *rest]:
                    many(first, rest)
                case {"id": key, **other}:
                    one(key)
                case -1:
                    return
                case _:
                    unknown()
            after()

        def exhaustive(x):
            match x, 1:
                case pair:
                    use(pair)
        """,
    "comprehensions": """
        def lists(batch):
            return [t.id for t in batch if t.ok if not t.old]

        def dicts(self, tup):
            return {k: f(tup) for k, tup in self.pending.items()}

        def generators(rows):
            return sum(cell for row in rows for cell in row)

        def sets(a):
            return {(x := b) for b in a}

        async def asynchronous(a):
            return [await f(b) async for b in a]

        def of_lambdas(a):
            return [lambda: b + c for b in a]
        """,
    "closures": """
        def outer(tup, c):
            count = 0
            @retry(3)
            @wraps
            def done(result, *args, key=tup, **more):
                def deep():
                    return count, later
                return deep
            later = 1
            callback = lambda r, n=1: c.ack(tup)
            future.add_done_callback(done)

            class Local(Base):
                size = count
                def run(self):
                    return tup
            return Local

        def counts():
            x = yield 1
            yield from other(x)
            return x

        def never():
            return
            yield

        if flag:
            def twice(): pass
        else:
            def twice(): ...
        """,
    "module": """
        import logging, os.path as p
        try:
            import ujson as json
        except ImportError:
            import json

        log = logging.getLogger(__name__)
        for name in names:
            log.info(name)

        def ignored(): pass

        if __name__ == "__main__":
            Bolt().run()
        """,
}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_graph_of(name, golden):
    source = textwrap.dedent(SOURCES[name]).lstrip("\n")
    numbered = "".join(
        f"{number:3} {line}\n".replace(" \n", "\n") for number, line in enumerate(source.splitlines(), 1)
    )
    golden(f"cfg-{name}", f"{numbered}\n{picture(unit(source))}")
