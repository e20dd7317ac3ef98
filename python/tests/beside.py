"""Measures what other Python threads get done during a call."""

import threading
import time


def turns_beside(work):
    """Counts the iterations of a loop that sleeps for a millisecond while another thread works.

    Holding Python's lock for the whole call would let it go round once or twice.
    """
    worker = threading.Thread(target=work)
    turns = 0
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        turns += 1
    return turns
