"""BertViz: all heads at once, which is what our overview shows."""

import bertviz

NAME = "BertViz model view"


def page(attentions, tokens):
    return bertviz.model_view(attentions, tokens, html_action="return").data
