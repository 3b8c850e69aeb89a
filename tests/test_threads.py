"""Threads: results in order, a limit that is kept, errors that come through."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tanager.runtime.resources import count_threads, map_threads, thread_limit


def test_results_come_in_the_order_of_the_items():
    with thread_limit(4):
        assert map_threads(lambda k: k * k, range(100)) == [k * k for k in range(100)]


def test_a_limit_holds_inside_and_ends_outside():
    everywhere = count_threads()
    with thread_limit(3):
        assert count_threads() == 3
        with thread_limit(-1):
            assert count_threads() == everywhere
        assert count_threads() == 3
    assert count_threads() == everywhere


def test_no_more_threads_run_than_the_limit_allows():
    started = set()
    barrier = threading.Barrier(3)

    def work(_):
        started.add(threading.get_ident())
        barrier.wait(timeout=10)

    with thread_limit(3):
        map_threads(work, range(9))
    assert len(started) == 3


def test_threads_inside_threads_are_not_started():
    with thread_limit(2):
        assert map_threads(lambda _: count_threads(), range(4)) == [1, 1, 1, 1]


def test_an_error_in_a_thread_is_raised():
    def fail(k):
        if k == 7:
            raise KeyError(k)

    with thread_limit(2), pytest.raises(KeyError):
        map_threads(fail, range(20))


def test_callers_on_several_threads_each_get_their_own_results():
    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(lambda first: map_threads(lambda k: first + k, range(50)), range(40)))
    assert found == [[first + k for k in range(50)] for first in range(40)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    with thread_limit(3):
        map_threads(str, range(9))  # the threads of this process
        child = os.fork()
        if child == 0:
            os._exit(0 if map_threads(lambda k: k + 1, range(100)) == list(range(1, 101)) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
