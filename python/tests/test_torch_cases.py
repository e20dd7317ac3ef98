"""Attention of random shape, mask, type, layout and options, with its gradients, against torch in double precision.

Each case is drawn from the seed in its name: `pytest -k "case[17-"` draws it again.
"""

import random
import warnings
from types import SimpleNamespace

import attnscope as at
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
import torch_book as book  # noqa: E402

CASES = 440

# Of a number that was computed from numbers of this type: its own rounding, or that of what it is made of.
TOLERANCE = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}
GRADIENT_TOLERANCE = {torch.float32: 3e-5, torch.float16: 8e-3, torch.bfloat16: 5e-2}


def positions(n, m):
    return torch.arange(n)[:, None], torch.arange(m)[None, :]


def draw_rule(pick, sizes):
    """Returns a rule as text, and its table by the definition."""
    n, m = sizes.n, sizes.m
    i, j = positions(n, m)
    a, b = pick.randrange(0, 12), pick.randrange(0, 12)
    stride, size, offset = pick.randrange(1, 9), pick.randrange(1, 20), pick.randrange(-5, 30)
    rules = [
        (at.causal(), j <= i),
        (at.causal(offset), j <= i + offset),
        (at.window(a), (i - j).abs() <= a),
        (at.window(a, b), (j >= i - a) & (j <= i + b)),
        (at.window(None, b), j <= i + b),
        (at.sparse(stride=stride), ((i - j).abs() <= stride) | (i % stride == 0) | (j % stride == 0)),
        (at.dilated(a + 3, stride), ((i - j).abs() <= a + 3) & ((i - j) % stride == 0)),
        (at.global_(a), (i < a) | (j < a)),
        (at.block(size), i // size == j // size),
        (at.prefix(a), (j < a).expand(n, m)),
    ]
    rule, table = pick.choice(rules)
    turn = pick.random()
    if turn < 0.2:
        return ~rule, ~table
    other, other_table = pick.choice(rules)
    if turn < 0.4:
        return rule & other, table & other_table
    if turn < 0.6:
        return rule | other, table | other_table
    return rule, table


def draw_padding(pick, sizes):
    lengths = [pick.randrange(0, sizes.m + 1) for _ in range(sizes.b)]
    j = torch.arange(sizes.m)
    table = torch.stack([j < length for length in lengths])[:, None, None, :]
    how = pick.randrange(3)
    if how == 0:
        return at.padding(lengths), table
    if how == 1:
        return at.padding(table[:, 0, 0].int()), table
    ids = torch.where(table[:, 0, 0], 5, -1)
    if sizes.n == sizes.m:
        i, j = positions(sizes.n, sizes.m)
        return at.combined(ids, pad=-1), table & (j <= i)
    return at.padding_ids(ids, pad=-1), table


def draw_document(pick, sizes):
    ids = torch.tensor([[pick.randrange(3) for _ in range(sizes.m)] for _ in range(sizes.b)], dtype=torch.long)
    return at.document(ids), (ids[:, :, None] == ids[:, None, :])[:, None]


def draw_shape(pick, sizes):
    b, h, n, m = sizes.b, sizes.h, sizes.n, sizes.m
    return pick.choice([(n, m), (1, 1, n, m), (b, 1, n, m), (1, h, n, m), (b, h, n, m), (b, 1, 1, m)])


def draw_mask(pick, sizes):
    """mask=, the pairs that it allows (None: all), and what it adds to the scores (None: nothing)."""
    kind = pick.choice(["none", "rule", "rule", "text", "plan", "padding", "document", "bool", "bool", "additive"])
    if kind == "none" or (kind == "document" and (sizes.n != sizes.m or sizes.n == 0)):
        return None, None, None, "none"
    if kind in ("rule", "text", "plan"):
        rule, table = draw_rule(pick, sizes)
        text = str(rule)
        if kind == "plan":
            rule = at.plan(rule, sizes.b, sizes.h, sizes.n, sizes.m)
        return (text if kind == "text" else rule), table, None, f"{kind} {text}"
    if kind == "padding":
        return *draw_padding(pick, sizes), None, kind
    if kind == "document":
        return *draw_document(pick, sizes), None, kind
    shape = draw_shape(pick, sizes)
    table = torch.rand(shape) < pick.choice([0.05, 0.5, 0.95])
    if kind == "bool":
        return table, table, None, f"bool {list(shape)}"
    dtype = pick.choice([torch.float32, torch.float16, torch.bfloat16])
    added = torch.randn(shape).to(dtype)
    never = pick.choice([-torch.inf, torch.finfo(dtype).min])
    return torch.where(table, added, never), table, added, f"additive {list(shape)} {dtype}"


def dense(x):
    return x


def heads_inside(x):
    """[B, N, H, D] seen as [B, H, N, D], as a projection leaves it."""
    return x.transpose(-3, -2).contiguous().transpose(-3, -2) if x.ndim > 2 else x


def with_gaps(x):
    wide = x.new_zeros(*x.shape[:-1], x.shape[-1] + 3)
    wide[..., 1:-2] = x
    return wide[..., 1:-2]


def every_other_row(x):
    many = x.new_zeros(*x.shape[:-2], 2 * x.shape[-2], x.shape[-1])
    many[..., ::2, :] = x
    return many[..., ::2, :]


def repeated(x):
    return x[:1].expand(x.shape) if x.ndim > 2 else x


def step_two(x):
    """Makes a last axis that is not contiguous: copied, with a warning."""
    wide = x.new_zeros(*x.shape[:-1], 2 * x.shape[-1])
    wide[..., ::2] = x
    return wide[..., ::2]


LAYOUTS = [dense, dense, dense, heads_inside, heads_inside, with_gaps, every_other_row, repeated, step_two]


def draw_sizes(pick):
    def length():
        return pick.choice([1, 2, pick.randrange(3, 20), pick.randrange(20, 90), pick.randrange(90, 160)])

    def width():
        return pick.choice([1, 2, 3, 5, 8, 13, 16, 31, 32, 64, 80, 96, 128, 200])

    rank = pick.choice([2, 3, 4, 4, 4, 4])
    g = 1 if rank == 2 else pick.choice([1, 2, 3])
    h = g if rank == 2 else g * pick.choice([1, 1, 2, 4])
    n = length()
    m = n if pick.random() < 0.4 else length()
    if pick.random() < 0.04:
        n, m = pick.choice([(0, m), (n, 0), (0, 0)])
    d, e = (512, pick.choice([512, 17])) if pick.random() < 0.05 else (width(), width())
    return SimpleNamespace(rank=rank, b=pick.choice([1, 2, 3]) if rank == 4 else 1, h=h, g=g, n=n, m=m, d=d, e=e)


def draw_bias(pick, sizes):
    """bias=, the tensor in it, and what it is as [.., N, M]."""
    how = pick.choice(["none", "none", "none", "dense", "distance"])
    if how == "none" or sizes.n == 0 or sizes.m == 0:
        return "none", None, None
    dtype = pick.choice([torch.float32, torch.float32, torch.float16, torch.float64])
    if how == "dense":
        return how, torch.randn(draw_shape(pick, sizes)).to(dtype), lambda table: table
    table = torch.randn(pick.choice([1, sizes.h]), sizes.n + sizes.m - 1).to(dtype)
    return how, table, lambda table: book.by_distance(table, sizes.n, sizes.m)


def draw(seed):
    pick = random.Random(seed)
    torch.manual_seed(seed)
    sizes = draw_sizes(pick)
    types = [pick.choice([torch.float32] * 4 + [torch.float16, torch.bfloat16]) for _ in range(3)]
    if pick.random() < 0.8:
        types = [types[0]] * 3
    layout = pick.choice(LAYOUTS)
    keys = (sizes.b, sizes.g, sizes.m)
    shapes = ((sizes.b, sizes.h, sizes.n, sizes.d), (*keys, sizes.d), (*keys, sizes.e))
    qkv = [layout(torch.randn(shape[4 - sizes.rank :]).to(dtype)) for shape, dtype in zip(shapes, types)]
    mask, allowed, added, mask_text = draw_mask(pick, sizes)
    bias_kind, table, spread = draw_bias(pick, sizes)
    options = {}
    if pick.random() < 0.3:
        options["scale"] = pick.choice([0.0, 0.05, 0.3, -0.2])
    if pick.random() < 0.3:
        options["softcap"] = pick.choice([0.5, 3.0, 30.0])
    sink = torch.randn(sizes.h) if pick.random() < 0.25 else None
    text = f"{layout.__name__} q{list(qkv[0].shape)} k{list(qkv[1].shape)} E={sizes.e} {mask_text} bias={bias_kind}"
    text += f" {options} {'sink ' if sink is not None else ''}{[str(t)[6:] for t in types]}"
    return SimpleNamespace(**locals())


def ours(case, gradients):
    inputs = [x.detach().requires_grad_(gradients) for x in case.qkv]
    table = case.table if case.table is None else case.table.clone().requires_grad_(gradients)
    sink = case.sink if case.sink is None else case.sink.clone().requires_grad_(gradients)
    bias = at.distance_bias(table) if case.bias_kind == "distance" else table
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out, lse = at.torch.attention(*inputs, mask=case.mask, bias=bias, sink=sink, return_lse=True, **case.options)
    copied = [x for x in inputs if x.numel() and x.shape[-1] > 1 and x.stride(-1) != 1]
    assert len(caught) == len(copied), [str(warning.message) for warning in caught]
    assert all("its last axis is not contiguous" in str(warning.message) for warning in caught)
    return out, lse, [x for x in (*inputs, table, sink) if x is not None]


def theirs(case):
    lift = (None,) * (4 - case.sizes.rank)
    inputs = [x.detach().double().requires_grad_() for x in case.qkv]
    table = case.table if case.table is None else case.table.double().requires_grad_()
    sink = case.sink if case.sink is None else case.sink.double().requires_grad_()
    bias = None if table is None else case.spread(table)
    if case.added is not None:
        bias = case.added.double() if bias is None else bias + case.added.double()
    q, k, v = (x[lift] if lift else x for x in inputs)
    out, lse, _ = book.attention(q, k, v, allowed=case.allowed, bias=bias, sink=sink, **case.options)
    by_torch = None
    if sink is None and "softcap" not in case.options and case.sizes.m:
        by_torch = sdpa(q, k, v, case.allowed, bias, case.options.get("scale"))
    drop = [0] * (4 - case.sizes.rank)
    for _ in drop:
        out, lse = out[0], lse[0]
        by_torch = None if by_torch is None else by_torch[0]
    return out, lse, by_torch, [x for x in (*inputs, table, sink) if x is not None]


def sdpa(q, k, v, allowed, bias, scale):
    """Calls torch's own; for a row that sees no key it gives NaN or zeros, by version, where attnscope gives zeros."""
    with torch.no_grad():
        shape = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        added = torch.zeros(shape, dtype=torch.float64) if bias is None else bias.expand(shape).clone()
        if allowed is not None:
            added[~allowed.expand(shape)] = -torch.inf
        out = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=added, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )
        return torch.where((added == -torch.inf).all(-1, keepdim=True), 0.0, out)


@pytest.mark.parametrize("seed", range(CASES), ids=lambda seed: f"{seed}-seed")
def test_case(seed):
    case = draw(seed)
    types = case.types
    worst = max(types, key=lambda t: torch.finfo(t).eps)
    out, lse, leaves = ours(case, gradients=True)
    wanted_out, wanted_lse, by_torch, wanted_leaves = theirs(case)
    assert out.dtype is types[0] and lse.dtype is torch.float32, case.text
    book.agree(out, wanted_out, TOLERANCE[types[0]], f"out of {case.text}")
    book.agree(lse, wanted_lse, TOLERANCE[torch.float32], f"lse of {case.text}")
    if by_torch is not None:
        book.agree(out, by_torch, TOLERANCE[types[0]], f"out (sdpa) of {case.text}")
    with torch.no_grad():
        plain, plain_lse = ours(case, gradients=False)[:2]
    assert torch.equal(plain, out) and torch.equal(plain_lse, lse), case.text

    d_out, d_lse = torch.randn(out.shape).to(out.dtype), torch.randn(lse.shape)
    finite = torch.isfinite(wanted_lse)
    loss = (out * d_out).sum() + torch.where(finite, lse * d_lse, 0.0).sum()
    wanted_loss = (wanted_out * d_out.double()).sum() + torch.where(finite, wanted_lse * d_lse, 0.0).sum()
    got = torch.autograd.grad(loss, leaves)
    wanted = torch.autograd.grad(wanted_loss, wanted_leaves, allow_unused=True, materialize_grads=True)
    for leaf, g, w in zip(leaves, got, wanted):
        assert g.dtype is leaf.dtype
        tolerance = max(GRADIENT_TOLERANCE[worst], GRADIENT_TOLERANCE.get(leaf.dtype, 0))
        book.agree(g, w, tolerance, f"gradient of {list(leaf.shape)} of {case.text}")
