"""Jobs on several processes: records as they are done, and no more of a pair that takes too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set, Sized
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from itertools import islice

from joblib import effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from experiments.studies.jobs import Job, Pair, Record, give_up, pair_of, run_job
from tanager.errors import TanagerError


def work(jobs: Iterable[Job], n_jobs: int, slow: Set[Pair]) -> Iterator[Record]:
    """The records of jobs as they are done, on so many processes.

    A job is given up if its pair is in `slow`, or has run out of time before the job's turn comes.
    """
    slow = set(slow)
    n_jobs = effective_n_jobs(n_jobs)
    if isinstance(jobs, Sized):
        n_jobs = min(n_jobs, len(jobs))
    records = _on_processes(jobs, n_jobs, slow) if n_jobs > 1 else (_task(job, slow)(job) for job in jobs)
    try:
        for record in records:
            if "limit_seconds" in record:
                slow.add(pair_of(record))
            yield record
    except TerminatedWorkerError:
        raise TanagerError(
            "a process was ended from outside while it fitted a classifier, as happens when memory runs out; "
            "what was done before is kept.",
            hint="run the same again to go on, with fewer --jobs.",
        ) from None
    except BrokenExecutor as error:
        raise TanagerError(
            f"a classifier cannot be handed to another process: {_last_line(error)}.",
            hint="install the package that defines it, or work on one process (--jobs 1).",
        ) from error


def _on_processes(jobs: Iterable[Job], n_jobs: int, slow: Set[Pair]) -> Iterator[Record]:
    """A job is handed out when a process is free for it, and no sooner: until then its pair may turn out to be slow."""
    # Joblib's `Parallel` hands out the next job before the caller has seen the record of the last.
    waiting = iter(jobs)
    pool = get_reusable_executor(n_jobs)
    running: set[Future[Record]] = set()
    try:
        while True:
            running |= {pool.submit(_task(job, slow), job) for job in islice(waiting, n_jobs - len(running))}
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        # Whoever stops in the middle, by Ctrl-C or an error, does not wait for fits that may take an hour. Processes
        # without work end here too: they would outlive a command by minutes, and then complain on its terminal.
        pool.shutdown(kill_workers=any(not future.done() for future in running))


def _task(job: Job, slow: Set[Pair]) -> Callable[[Job], Record]:
    return give_up if job.pair in slow else run_job


def _last_line(error: BrokenExecutor) -> str:
    """What the other process said, without its traceback."""
    return str(error.__cause__ or error).strip().strip('"').strip().splitlines()[-1]
