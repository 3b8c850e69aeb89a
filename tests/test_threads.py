"""Threads: results in order, a limit that is kept, errors that come through."""

import threading

import pytest

from tanager.threads import count_threads, map_threads, thread_limit


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
