"""How many threads a call may use."""

import operator

from . import _attnscope

_MOST = 1024


def set_num_threads(threads: int) -> None:
    """Uses this many threads, the caller's own included, in every call that begins from now on.

    The result of a call has the same bits whatever their number.

    >>> import attnscope as at
    >>> before = at.get_num_threads()
    >>> at.set_num_threads(1)
    >>> at.get_num_threads()
    1
    >>> at.set_num_threads(before)
    """
    count = operator.index(threads)
    if not 1 <= count <= _MOST:
        raise ValueError(f"threads is {count}; 1 to {_MOST} can be used")
    _attnscope.set_num_threads(count)


def get_num_threads() -> int:
    """How many threads a call may use: by default ATTNSCOPE_THREADS, else the cores that this process may use."""
    return _attnscope.get_num_threads()
