"""The exception for files that cannot be read or written."""


class Error(OSError):
    """Raised for a file that cannot be read or written, or that is malformed; the message names it and says why.

    >>> import attnscope as at
    >>> at.open("README.md")
    Traceback (most recent call last):
        ...
    attnscope.Error: README.md...
    """


Error.__module__ = "attnscope"
