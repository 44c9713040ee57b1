"""Work that no Ctrl-C interrupts."""

import signal
import threading

import pytest

from ackdoctor.tracer.recorder import ignoring_interrupts


@ignoring_interrupts()
def goes_wrong():
    raise OSError(str(signal.getsignal(signal.SIGINT)))


def test_a_ctrl_c_works_again_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match=str(signal.SIG_IGN)):
        goes_wrong()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_without_signals_runs_unchanged():
    seen = []

    def work():
        with ignoring_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
