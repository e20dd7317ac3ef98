"""inspectus, as it shows itself in a notebook: what it would display, put into one file."""

import inspectus
import IPython.display

NAME = "inspectus"


def page(attentions, tokens):
    parts = []
    shown, IPython.display.display = IPython.display.display, lambda part: parts.append(part.data)
    try:
        inspectus.attention(attentions, tokens)
    finally:
        IPython.display.display = shown
    return "<!doctype html><meta charset=utf-8><body>" + "".join(parts)
