"""What Python gets done beside a call."""

import threading
import time


def turns_beside(work):
    """How often a loop that sleeps for a millisecond goes round while another thread works.

    Holding Python's lock for the whole call would let it go round once or twice.
    """
    worker = threading.Thread(target=work)
    turns = 0
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        turns += 1
    return turns
