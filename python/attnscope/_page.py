"""The interactive page for a recording: served by this process, in a notebook, or as one file."""

from __future__ import annotations

import atexit
import contextlib
import html
import os
import signal
import sys
import time
import webbrowser
from collections.abc import Iterable, Sequence
from typing import Any

from . import _parts, _scope, _tables
from ._recording import Recording

_HEIGHT = 620  # of the page in a notebook, in pixels
_MOST_BYTES = 2_000_000  # a larger page is not stored in a notebook
_MOST_WEIGHTS = 8_000_000  # the page of a larger recording cannot fit into _MOST_BYTES

_open: set[Page] = set()


class Page:
    """A page that this process serves, to this machine only, until close() or the end of the process.

    A script that reaches its end with an open page keeps running until Ctrl-C if it opened a browser or its output is a
    terminal; otherwise it ends, and the page with it. wait() blocks in either case.

    >>> import attnscope as at
    >>> page = at.load("tiny-bert").record("The cat sat on the mat.").view(open=False)
    >>> page.url.startswith("http://127.0.0.1:")
    True
    >>> page.close()
    """

    def __init__(self, recording: Recording, port: int | None, state: str = "") -> None:
        if port is not None and not 0 <= port <= 65535:
            raise ValueError(f"port must be from 0 to 65535, not {port}")
        self._server = _scope.serve(recording._held, port)
        self._state = f"#{state}" if state else ""
        self._process = os.getpid()
        self._shown = False  # whether a browser was opened
        _open.add(self)  # keeps it alive when the caller drops it

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._server.url + self._state

    @property
    def closed(self) -> bool:
        """Whether the page is no longer served."""
        return self not in _open

    def close(self) -> None:
        """Stops serving the page; a script that closes its pages does not wait at its end. May be called repeatedly."""
        if self in _open:
            _open.discard(self)
            self._server.stop()

    def wait(self) -> None:
        """Blocks until Ctrl-C or close(), then closes the page; for scripts that do something afterwards."""
        try:
            while not self.closed:
                time.sleep(0.2)
        except KeyboardInterrupt:
            pass
        self.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<attnscope.Page at {self.url}{', closed' if self.closed else ''}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return html.escape(repr(self))
        return _frame("src", self.url)


def _close_all() -> None:
    for page in list(_open):
        page.close()


def _is_terminal(stream: Any) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # missing or closed
        return False


def _stay() -> list[Page]:
    """Returns the pages that keep a script running at its end."""
    asked = hasattr(sys, "ps1") or sys.flags.interactive or sys.flags.inspect or in_notebook()
    if asked or hasattr(sys, "last_value"):  # the user left a prompt, or an error ended the script
        return []
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background: Ctrl-C cannot end it
        return []
    seen = _is_terminal(sys.stdout) or _is_terminal(sys.stderr)
    return [page for page in _open if page._process == os.getpid() and (seen or page._shown)]


@atexit.register
def _end() -> None:
    pages = _stay()
    if pages:
        where = " and ".join(sorted(page.url for page in pages))
        with contextlib.suppress(KeyboardInterrupt):
            print(f"attnscope: serving at {where}; press Ctrl-C to stop", file=sys.stderr, flush=True)
            pages[0].wait()
    _close_all()


class Html:
    """A page as text in .data, like IPython's HTML: a notebook displays it."""

    def __init__(self, data: str) -> None:
        self.data = data

    def __str__(self) -> str:
        return self.data

    def __repr__(self) -> str:
        return f"<attnscope.Html of {len(self.data):,} characters>"

    def _repr_html_(self) -> str:
        return _frame("srcdoc", self.data)


def _frame(attribute: str, value: str) -> str:
    # Isolates the page from the notebook. One with an address of its own keeps that as its origin.
    inside = "allow-scripts allow-downloads allow-popups" + (" allow-same-origin" if attribute == "src" else "")
    return (
        f'<iframe {attribute}="{html.escape(value)}" sandbox="{inside}" title="attnscope" '
        f'style="width:100%;height:{_HEIGHT}px;border:0" allow="clipboard-write"></iframe>'
    )


def in_notebook() -> bool:
    """Tells whether IPython displays its output in a browser."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _has_browser() -> bool:
    """Tells whether to open a browser; without a display, a text browser might take over the terminal."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))


def view(recording: Recording, port: int | None, open: bool | None, state: str = "") -> Page:
    """Implements Recording.view()."""
    page = Page(recording, port, state)
    if open or (open is None and _has_browser() and not in_notebook()):
        page._shown = bool(webbrowser.open(page.url))
    return page


def offline(recording: Recording, path: str | os.PathLike | None, state: str = "") -> bytes | None:
    """Implements Recording.html()."""
    if path is None:
        return _scope.offline(recording._held, state)
    _scope.offline_file(recording._held, state, _parts.path_of(path, "path"))
    return None


def iframe(recording: Recording, state: str = "") -> str | None:
    """Returns the page for a notebook to store; None if it would be too large or the numbers are not weights."""
    weights = sum(stack.layers * stack.heads * stack.queries * stack.keys for stack in recording.stacks)
    if weights > _MOST_WEIGHTS:
        return None
    try:
        page = _scope.offline(recording._held, state)
    except ValueError:  # not weights: view() raises with the reason
        return None
    return _frame("srcdoc", page.decode()) if len(page) <= _MOST_BYTES else None


# ---- functions with the signatures of BertViz ----


def _pretty(tokens: Iterable[str], prettify: bool) -> list[str]:
    """Returns human-readable tokens: without the marks of BPE and SentencePiece for spaces and ends of words."""
    names = _tables.names_of(tokens, "tokens") or []
    if not prettify:
        return names
    return [name.replace("Ġ", " ").replace("▁", " ").replace("</w>", "") for name in names]


def _places(given: Any, count: int, name: str, what: str) -> list[int] | None:
    """Checks a list of layers or heads, where negative numbers count from the end; None means all."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of numbers, not {type(given).__name__}")
    places = [_parts.place(_parts.whole(each, f"each of {name}", -(2**63)), count, what) for each in given]
    if not places:
        raise ValueError(f"{name} is empty; None means all")
    return places


def _layers(attention: Any) -> list:
    """Returns arrays [1, H, N, M], one per layer."""
    tables = _tables.layers_of(attention)
    tables = [table if table.ndim == 4 else table[None] for table in tables]
    if len(tables) == 1 and tables[0].shape[0] > 1:
        tables = [tables[0][layer : layer + 1] for layer in range(tables[0].shape[0])]
    return tables


def _chosen(tables: list, layers: Sequence[int] | None, heads: Sequence[int] | None) -> list:
    """Selects layers and heads from the tables of all layers."""
    layers = _places(layers, len(tables), "include_layers", "layer")
    if layers is not None:
        tables = [tables[layer] for layer in layers]
    heads = _places(heads, tables[0].shape[1], "include_heads", "head")
    return tables if heads is None else [table[:, heads] for table in tables]


class _Given:
    """The arguments that BertViz's functions have in common."""

    def __init__(
        self,
        attention: Any,
        tokens: Iterable[str] | None,
        sentence_b_start: int | None,
        prettify_tokens: bool,
        encoder_decoder: tuple[Any, Any, Any, Iterable[str] | None, Iterable[str] | None],
    ) -> None:
        encoder, decoder, cross, encoder_tokens, decoder_tokens = encoder_decoder
        self.kinds: list[tuple[str, list[Any], list[str], list[str] | None]] = []
        self.sentence_b_start = sentence_b_start
        if attention is not None:
            if any(each is not None for each in encoder_decoder):
                raise ValueError("pass attention and tokens, or those of an encoder and a decoder, not both")
            if tokens is None:
                raise ValueError("tokens are missing: they name the rows and columns of attention")
            names = _pretty(tokens, prettify_tokens)
            if sentence_b_start is not None:
                self.sentence_b_start = _parts.whole(sentence_b_start, "sentence_b_start", 0, len(names) - 1)
            self.kinds = [("self", _layers(attention), names, None)]
            return
        if encoder is None and decoder is None and cross is None:
            raise ValueError("pass attention, or encoder_attention, decoder_attention or cross_attention")
        if sentence_b_start is not None:
            raise ValueError("sentence_b_start goes with attention and tokens: a decoder has one text")
        if tokens is not None:
            raise ValueError("tokens go with attention; pass encoder_tokens and decoder_tokens instead")
        known = {
            "encoder_tokens": None if encoder_tokens is None else _pretty(encoder_tokens, prettify_tokens),
            "decoder_tokens": None if decoder_tokens is None else _pretty(decoder_tokens, prettify_tokens),
        }

        def needed(which: str, of: str) -> list[str]:
            names = known[which]
            if names is None:
                raise ValueError(f"{which} are missing: {of} needs them as names")
            return names

        if encoder is not None:
            self.kinds.append(("self", _layers(encoder), needed("encoder_tokens", "encoder_attention"), None))
        if decoder is not None:
            self.kinds.append(("decoder", _layers(decoder), needed("decoder_tokens", "decoder_attention"), None))
        if cross is not None:
            rows, columns = needed("decoder_tokens", "cross_attention"), needed("encoder_tokens", "cross_attention")
            self.kinds.append(("cross", _layers(cross), rows, columns))

    @property
    def layers(self) -> int:
        return len(self.kinds[0][1])

    def recording(self, layers: Sequence[int] | None, heads: Sequence[int] | None) -> Recording:
        parts = [
            (kind, _chosen(tables, layers, heads), rows, columns, self.sentence_b_start)
            for kind, tables, rows, columns in self.kinds
        ]
        return Recording(_scope.from_kinds(parts, "attention"))


def _show(recording: Recording, state: str, html_action: str) -> Page | Html | None:
    if html_action not in ("view", "return"):
        raise ValueError(f"html_action must be 'view' or 'return', not {html_action!r}")
    if html_action == "return":
        return Html(_scope.offline(recording._held, state).decode())
    if not in_notebook():
        return view(recording, None, None, state)
    from IPython.display import HTML, display

    shown = iframe(recording, state)
    display(HTML(shown) if shown is not None else view(recording, None, False, state))
    return None


def head_view(
    attention: Any = None,
    tokens: Iterable[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Iterable[str] | None = None,
    decoder_tokens: Iterable[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "view",
) -> Page | Html | None:
    """Shows attention as lines between tokens, on attnscope's page; takes the arguments of BertViz's head_view.

    attention is what a transformers model returns as `attentions` for one text, L tensors [1, H, N, N], or any tables
    that Recording.from_tables() takes. layer and heads select what is drawn first; negative numbers count from the end.
    html_action="return" returns the page as one file, in .data of the result; "view" displays it in a notebook, and
    elsewhere serves it and returns the Page, which keeps a script running until Ctrl-C (see Page). On the page, layers
    count from 0 among the included ones. Raises ValueError for arguments that do not go together.

    >>> import numpy as np, attnscope as at
    >>> attention = [np.full((1, 2, 3, 3), 1 / 3, np.float32) for layer in range(4)]
    >>> at.head_view(attention, ["the", "cat", "sat"], layer=2, html_action="return").data[:15]
    '<!doctype html>'
    """
    given = _Given(
        attention,
        tokens,
        sentence_b_start,
        prettify_tokens,
        (encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens),
    )
    recording = given.recording(include_layers, None)
    stack = recording.stacks[0]
    shown = 0
    if layer is not None:
        layer = _parts.place(layer, given.layers, "layer")
        included = _places(include_layers, given.layers, "include_layers", "layer") or list(range(given.layers))
        if layer not in included:
            raise ValueError(f"layer {layer} is not among include_layers, {list(include_layers or ())}")
        shown = included.index(layer)
    drawn = _places(heads, stack.heads, "heads", "head") or list(range(stack.heads))
    state = f"view=heads&kind={stack.kind}&layer={shown}&head={drawn[0]}"
    if len(drawn) > 1:
        state += "&others=" + ",".join(f"{shown}.{head}" for head in drawn[1:])
    return _show(recording, state, html_action)


def model_view(
    attention: Any = None,
    tokens: Iterable[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Iterable[str] | None = None,
    decoder_tokens: Iterable[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "view",
) -> Page | Html | None:
    """Shows every head of every layer, on attnscope's page; takes the arguments of BertViz's model_view.

    Works like head_view(). display_mode is ignored: the page follows the system's setting, and has a switch. On the
    page, layers and heads count from 0 among the included ones.

    >>> import numpy as np, attnscope as at
    >>> attention = np.full((4, 2, 3, 3), 1 / 3, np.float32)
    >>> at.model_view(attention, ["the", "cat", "sat"], html_action="return").data[:15]
    '<!doctype html>'
    """
    if display_mode not in ("dark", "light"):
        raise ValueError(f"display_mode must be 'dark' or 'light', not {display_mode!r}")
    given = _Given(
        attention,
        tokens,
        sentence_b_start,
        prettify_tokens,
        (encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens),
    )
    return _show(given.recording(include_layers, include_heads), "view=overview", html_action)
