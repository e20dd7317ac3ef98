"""What is raised when a file is not what it should be."""


class Error(OSError):
    """A file that cannot be read or written, or that is not what it should be: the message names it and says why.

    >>> import attnscope as at
    >>> at.open("README.md")
    Traceback (most recent call last):
        ...
    attnscope.Error: README.md...
    """


Error.__module__ = "attnscope"
