"""BertViz: the lines of one layer at a time."""

import bertviz

NAME = "BertViz head view"


def page(attentions, tokens):
    return bertviz.head_view(attentions, tokens, html_action="return").data
