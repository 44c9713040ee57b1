"""What `ackdoctor trace run` puts in front of PYTHONPATH; must not fail, on any Python, Python 2 included."""
# ruff: noqa: INP001, PTH100, PTH120, UP031, UP036

import os
import sys

if __name__ == "sitecustomize":
    _why = ""
    if sys.version_info < (3, 10):
        _why = "ackdoctor needs Python 3.10 or newer"
    elif os.environ.get("ACKDOCTOR_TRACE"):
        import _signal  # type: ignore[import-not-found]  # a moment sooner than `signal`

        # Nothing of the program has begun: a Ctrl-C ends it without a traceback.
        _heard = _signal.getsignal(_signal.SIGINT)
        if _heard is _signal.default_int_handler:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        try:
            from ackdoctor.tracer.run import begin
        except ImportError:
            _why = "ackdoctor is not installed for it"
        else:
            _why = begin()
        if _heard is _signal.default_int_handler:
            _signal.signal(_signal.SIGINT, _heard)
    if _why:
        sys.stderr.write("ackdoctor: %s (pid %d) is not traced: %s\n" % (sys.executable, os.getpid(), _why))

    # The sitecustomize that would have been imported if this one were not here.
    _here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [_path for _path in sys.path if os.path.abspath(_path) != _here]
    _this = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError:
        if "sitecustomize" not in str(sys.exc_info()[1]):
            raise
        sys.modules["sitecustomize"] = _this
