"""No contender: every byte of K and V is read once and added up. The floor of any decoding."""

from harness.case import Case, Inputs
from harness.contender import Call
from harness.probe import probe

NAME = "plain read"
CHECKED = False


def make(case: Case, x: Inputs) -> Call:
    read = probe().plain_read
    return lambda: (read(x.k), read(x.v))
