"""Checks attention under torch's transforms and modes: torch.func, second derivatives, autocast, FLOPs, FakeTensor."""

import attnscope as at
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch_book as book  # noqa: E402
from torch.func import grad, hessian, jacrev, jvp, vmap  # noqa: E402


def tensors(shape=(2, 3, 4, 8), keys=6, seed=0):
    make = torch.Generator().manual_seed(seed)
    *lead, _, width = shape
    return [torch.randn(size, generator=make) for size in (shape, (*lead, keys, width), (*lead, keys, width))]


def both():
    """Calls that mean the same in attnscope and in the book."""
    allowed = torch.ones(4, 6, dtype=torch.bool).tril(2)
    yield "causal", {"mask": "causal(2)"}, {"allowed": allowed}
    yield "table", {"mask": allowed}, {"allowed": allowed}
    yield "softcap", {"softcap": 2.0, "scale": 0.5}, {"softcap": 2.0, "scale": 0.5}
    added = torch.randn(4, 6, generator=torch.Generator().manual_seed(5))
    yield "additive mask", {"mask": at.mask(added)}, {"bias": added}
    yield (
        "distance",
        {"bias": at.distance_bias(added.flatten()[:9])},
        {"bias": book.by_distance(added.flatten()[:9], 4, 6)},
    )
    sink = torch.randn(3, generator=torch.Generator().manual_seed(6))
    yield "sink", {"sink": sink}, {"sink": sink}


CASES = {name: rest for name, *rest in both()}


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_are_those_of_the_formula(name):
    ours, theirs = CASES[name]
    found = []
    for call, options in (
        (lambda *x, **o: at.torch.attention(*x, return_lse=True, **o), ours),
        (book.attention, theirs),
    ):
        x = [y.clone().requires_grad_() for y in tensors()]
        out, lse, *_ = call(*x, **options)
        first = torch.autograd.grad(out.square().sum() + lse.sin().sum(), x, create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), x, create_graph=True)
        third = torch.autograd.grad(sum(g.sum() for g in second), x)
        found.append((*first, *second, *third))
    for n, (got, wanted) in enumerate(zip(*found)):
        book.agree(got, wanted, 2e-4, f"{name}, derivative {n}")


def test_first_gradients_have_the_same_bits_in_a_graph_of_gradients():
    x = [y.requires_grad_() for y in tensors()]
    first = torch.autograd.grad(at.torch.attention(*x).square().sum(), x, create_graph=True)
    plain = torch.autograd.grad(at.torch.attention(*x).square().sum(), x)
    assert all(torch.equal(a, b) for a, b in zip(first, plain))


def test_second_derivatives_of_one_tensor_and_with_dropout():
    x = torch.randn(1, 2, 5, 4, generator=torch.Generator().manual_seed(1), requires_grad=True)
    kept = torch.from_numpy(np.array(at._attnscope.dropout_kept(0.3, 7, (1, 2, 5, 5)))) / 0.7
    found = []
    for out in (at.torch.attention(x, x, x, dropout=0.3, seed=7), book.attention(x, x, x, kept=kept)[0]):
        (first,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), x)[0])
    book.agree(*found, 2e-4, "second")


@pytest.mark.parametrize("name", CASES)
def test_forward_derivatives_are_those_of_the_formula(name):
    ours, theirs = CASES[name]
    x, directions = tensors(), tensors(seed=9)
    function = lambda *y: at.torch.attention(*y, return_lse=True, **ours)  # noqa: E731
    wanted = jvp(lambda *y: book.attention(*y, **theirs)[:2], tuple(x), tuple(directions))
    with torch.autograd.forward_ad.dual_level():
        dual = [torch.autograd.forward_ad.make_dual(y, d) for y, d in zip(x, directions)]
        by_dual = [torch.autograd.forward_ad.unpack_dual(y) for y in function(*dual)]
    for got in (jvp(function, tuple(x), tuple(directions)), tuple(zip(*by_dual))):
        for n in range(2):
            book.agree(got[0][n], wanted[0][n], 2e-5, f"{name}, value {n}")
            book.agree(got[1][n], wanted[1][n], 2e-4, f"{name}, derivative {n}")


def test_at_attention_does_what_at_torch_attention_does():
    x, directions = tensors(), tensors(seed=9)
    with torch.autocast("cpu", torch.bfloat16):
        assert at.attention(*x).dtype is torch.bfloat16
    ours, theirs = (jvp(call, tuple(x), tuple(directions)) for call in (at.attention, at.torch.attention))
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs)) and ours[1].any()
    assert torch.equal(vmap(at.attention)(*x), vmap(at.torch.attention)(*x))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x[0], directions[0])
        assert torch.autograd.forward_ad.unpack_dual(at.attention(dual, *x[1:])).tangent.any()


def test_vmap_gives_what_a_loop_gives():
    q, k, v = tensors((5, 2, 3, 4, 8))
    tables = torch.rand(5, 4, 6, generator=torch.Generator().manual_seed(2)) < 0.7
    call = lambda q, k, v, table: at.torch.attention(q, k, v, mask=table)  # noqa: E731
    loop = torch.stack([call(*x) for x in zip(q, k, v, tables)])
    book.agree(vmap(call)(q, k, v, tables), loop, 1e-5, "vmap")
    shared = vmap(at.torch.attention, in_dims=(0, None, None))(q, k[0], v[0])
    book.agree(shared, torch.stack([at.torch.attention(x, k[0], v[0]) for x in q]), 1e-5, "shared keys")


def test_gradients_and_hessians_of_torch_func():
    q, k, v = tensors((1, 1, 2, 3), keys=3)
    ours = lambda q: at.torch.attention(q, k, v, mask="causal(1)").square().sum()  # noqa: E731
    allowed = torch.ones(2, 3, dtype=torch.bool).tril(1)
    theirs = lambda q: book.attention(q, k, v, allowed=allowed)[0].square().sum()  # noqa: E731
    for transform in (grad, jacrev, hessian, lambda f: vmap(grad(f), in_dims=0)):
        x = q if transform in (grad, jacrev, hessian) else torch.stack([q, -q])
        book.agree(transform(ours)(x), transform(theirs)(x), 1e-4, str(transform))


def test_autocast_casts_as_torch_does():
    x = tensors()
    theirs = torch.nn.functional.scaled_dot_product_attention
    with torch.autocast("cpu", torch.bfloat16):
        wanted = theirs(*x)
        for call in (at.torch.attention, at.torch.scaled_dot_product_attention):
            out = call(*x)
            assert out.dtype is wanted.dtype is torch.bfloat16
            book.agree(out, wanted, 2e-2, str(call))
        double = at.torch.scaled_dot_product_attention(*(y.double() for y in x))
        assert double.dtype is torch.float64
    learned = [y.requires_grad_() for y in x]
    with torch.autocast("cpu", torch.bfloat16):
        at.torch.attention(*learned).float().sum().backward()
    assert learned[0].grad.dtype is torch.float32


@pytest.mark.parametrize("call", ["attention", "scaled_dot_product_attention"])
def test_flops_are_counted_as_for_torchs_function(call):
    from torch.utils.flop_counter import FlopCounterMode

    counts = []
    for function in (getattr(at.torch, call), torch.nn.functional.scaled_dot_product_attention):
        x = [y.requires_grad_() for y in tensors()]
        with FlopCounterMode(display=False) as counter:
            function(*x).sum().backward()
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] > 0


def test_the_numbers_do_not_change_under_a_mode():
    from torch.utils.flop_counter import FlopCounterMode

    x = tensors()
    table = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    for mask in (
        None,
        "causal",
        at.causal(),
        at.mask(table),
        table,
        lambda b, h, i, j: j <= i,
        at.plan("causal", 2, 3, 4, 6),
    ):
        wanted = at.torch.attention(*x, mask=mask, return_lse=True, return_weights=True)
        with FlopCounterMode(display=False):
            got = at.torch.attention(*x, mask=mask, return_lse=True, return_weights=True)
        assert all(torch.equal(a, b) for a, b in zip(got, wanted))


def test_fake_tensors_have_the_shapes_of_the_result():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        q, k, v = (mode.from_tensor(y) for y in tensors())
        out, lse, weights = at.torch.attention(q, k, v, mask="causal", return_lse=True, return_weights=True)
    outside = (at.torch.scaled_dot_product_attention(q, k, v, is_causal=True), at.attention(q, k, v))
    for x in (out, *outside):
        assert x.shape == (2, 3, 4, 8) and type(x).__name__ == "FakeTensor"
    assert lse.shape == (2, 3, 4) and weights.shape == (2, 3, 4, 6)
