"""Call sites: the author's line, even below frames of the framework and of mocks."""

import sys
from types import ModuleType

from ackdoctor.model.trace import CallSite
from ackdoctor.tracer.sites import UNKNOWN, CallPath, Sites, passes


def framework(sites: Sites) -> ModuleType:
    """A framework module with a verb, and a loop that calls the verb."""
    module = ModuleType("fw.bolt")
    vars(module)["here"] = sites.here
    exec("def ack():\n    return here(0)\n\n\ndef run():\n    return ack()\n", vars(module))
    return module


def test_the_site_is_the_authors_line():
    sites = Sites(["fw"])
    module = framework(sites)
    number = module.ack()
    line = sys._getframe().f_lineno - 1
    site = sites[number]
    assert (site.path, site.line, site.framework) == (__file__, line, False)
    assert site.function.endswith("test_the_site_is_the_authors_line")


def test_two_calls_on_one_line_are_two_sites_and_one_call_is_one():
    sites = Sites(["fw"])
    module = framework(sites)
    first, second = module.ack(), module.ack()
    assert first != second
    assert len({module.ack() for _ in range(3)}) == 1


def test_the_framework_is_named_and_not_the_driver():
    sites = Sites(["fw"], ["fw.bolt.run"])
    site = sites[framework(sites).run()]
    assert (site.function, site.framework, site.line) == ("run", True, 6)


def test_a_remembered_path_does_not_hide_a_call_on_another_path():
    sites, path = Sites(["fw"]), CallPath()
    module = ModuleType("fw.bolt")
    vars(module)["wrapper"] = lambda: sites.along(path)
    exec("def send():\n    return wrapper()\n\n\ndef ack():\n    return send()\n", vars(module))

    def override():
        return module.ack()

    def bypass():
        return module.send()

    for _ in range(2):
        for call in (override, bypass, module.wrapper, override):
            here = sys._getframe().f_lineno + 1
            site = sites[call()]
            author = call.__code__.co_firstlineno + 1 if call is not module.wrapper else here
            assert site.line == author


def test_a_framework_call_without_an_author_has_no_site():
    sites = Sites(
        [__name__, *{name.partition(".")[0] for name in sys.modules}, "__main__", "__channelexec__"]
    )
    assert sites.here() == UNKNOWN
    assert sites[UNKNOWN] is None


def test_a_named_site_has_one_number():
    sites = Sites()
    site = CallSite("a.py", 3, "f")
    assert sites.named(site) == sites.named(CallSite("a.py", 3, "f"))
    assert sites[sites.named(site)] == site
    assert sites.spot(sites.named(site)) is None


# ---- what a call passes ----


def passes_anchors(*_args: object, **_kwargs: object) -> bool:
    """Whether the calling call passes `anchors`, its third argument."""
    frame = sys._getframe(1)
    return passes(frame.f_code, frame.f_lasti, "anchors", 2)


def test_a_call_shows_its_arguments():
    assert not passes_anchors()
    assert not passes_anchors([1])
    assert not passes_anchors([1], "stream")
    assert not passes_anchors([1], stream="s", need_task_ids=False)
    assert passes_anchors([1], anchors=[])
    assert passes_anchors([1], stream="s", anchors=None)
    assert passes_anchors([1], "stream", [])


def test_an_unknown_argument_counts_as_passed():
    nothing: dict[str, object] = {}
    assert passes_anchors([1], **nothing)
    assert passes_anchors(*[[1]])


def test_a_method_counts_from_after_self():
    class Bolt:
        def emit(self, *args: object, **kwargs: object) -> bool:
            frame = sys._getframe(1)
            return passes(frame.f_code, frame.f_lasti, "anchors", 2)

        def process(self) -> list[bool]:
            return [self.emit([1]), self.emit([1], "s"), self.emit([1], "s", []), self.emit([1], anchors=[])]

    assert Bolt().process() == [False, False, True, True]
