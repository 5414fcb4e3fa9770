"""Results of worker processes one after another, in order, while the next ones are computed."""

from __future__ import annotations

import multiprocessing
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from gristmill.engine.sending import dumps
from gristmill.errors import InvalidArgumentError, WorkerDiedError

_AHEAD = 2


def stream_from_workers(
    function: Callable[[Any], Any], arguments: Iterable[Any], workers: int
) -> Iterator[Any]:
    """Calls a function in other processes, for results that are used at once and need no file.

    Args:
        function: Takes one argument; it may be anything that cloudpickle can send.
        arguments: What it is called with; taken a few at a time.
        workers: How many processes. They import the main script, which must guard its work.

    Yields:
        Its results in the order of the arguments; a few are computed ahead.

    Raises:
        InvalidArgumentError: The function can't be sent to another process.
        WorkerDiedError: A worker ended without an answer.
    """
    try:
        packed = dumps(function)
    except Exception as error:
        raise InvalidArgumentError(
            f"The function or its arguments can't be sent to worker processes ({error}). Make what can't be sent "
            "inside the function, or work without worker processes."
        ) from error
    # Not forked: the threads of a framework would not come along, and their locks would.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(packed,))
    waiting: deque[Future[Any]] = deque()
    try:
        for argument in arguments:
            waiting.append(pool.submit(_call, argument))
            if len(waiting) >= workers * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerDiedError(
            "A worker process died, as happens when memory runs out, or when each of them starts a script anew that is "
            'not guarded by if __name__ == "__main__".'
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_function: Callable[[Any], Any] | None = None


def _start(packed: bytes) -> None:
    global _function  # noqa: PLW0603  # a worker process serves one function
    _function = pickle.loads(packed)  # noqa: S301  # from the process that started us


def _call(argument: Any) -> Any:
    assert _function is not None
    return _function(argument)
