"""The number of threads that a call uses."""

import operator

from . import _attnscope

_MOST = 1024


def set_num_threads(threads: int) -> None:
    """Sets the number of threads, the caller's included, for every call that begins from now on.

    Results are bit-identical for any number of threads. Raises ValueError unless it is from 1 to 1024.

    >>> import attnscope as at
    >>> before = at.get_num_threads()
    >>> at.set_num_threads(1)
    >>> at.get_num_threads()
    1
    >>> at.set_num_threads(before)
    """
    count = operator.index(threads)
    if not 1 <= count <= _MOST:
        raise ValueError(f"threads is {count}; it must be from 1 to {_MOST}")
    _attnscope.set_num_threads(count)


def get_num_threads() -> int:
    """Returns the number of threads of a call (default: ATTNSCOPE_THREADS, else the cores this process may use)."""
    return _attnscope.get_num_threads()
