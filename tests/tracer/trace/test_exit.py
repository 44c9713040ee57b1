"""Work that no Ctrl-C interrupts."""

import signal
import threading

import pytest

from ackdoctor.tracer.trace.write import ignoring_interrupts


@ignoring_interrupts()
def goes_wrong():
    raise OSError(str(signal.getsignal(signal.SIGINT)))


def test_a_ctrl_c_is_heard_again_after_work_that_went_wrong():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match=str(signal.SIG_IGN)):
        goes_wrong()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_that_hears_no_signals_works_as_it_is():
    seen = []

    def work():
        with ignoring_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
