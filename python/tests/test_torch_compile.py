"""Tests attention as a torch operator: torch.compile, and torch's own checks of operators."""

import attnscope as at
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

OPERATOR = torch.ops.attnscope


def tensors(seed=0, dtype=torch.float32):
    make = torch.Generator().manual_seed(seed)
    sizes = ((2, 4, 9, 8), (2, 2, 11, 8), (2, 2, 11, 5), (4, 9, 11), (4, 19), (4,))
    return [torch.randn(size, generator=make).to(dtype).requires_grad_() for size in sizes]


MASK = at.causal(2) & at.window(4)
PLAN = at.plan("causal(2)", 2, 4, 9, 11)
TABLE = torch.rand(9, 11, generator=torch.Generator().manual_seed(1)) < 0.7


def with_text(q, k, v, bias, table, sink):
    return at.torch.attention(q, k, v, mask="causal(2)", bias=bias, sink=sink, softcap=3.0, return_lse=True)


def with_mask(q, k, v, *_):
    return at.torch.attention(q, k, v, mask=MASK, scale=0.2)


def with_plan(q, k, v, *_):
    return at.torch.attention(q, k, v, mask=PLAN)


def with_table(q, k, v, *_):
    return at.torch.attention(q, k, v, mask=TABLE, return_weights=True)


def with_additive_table(q, k, v, *_):
    return at.torch.attention(q, k, v, mask=torch.where(TABLE, 0.5, -torch.inf))


def with_distances(q, k, v, bias, table, sink):
    return at.torch.attention(q, k, v, bias=at.distance_bias(table * 2), return_lse=True, return_weights=True)


def with_dropout(q, k, v, *_):
    return at.torch.attention(q, k, v, dropout=0.3, seed=2**64 - 3)


def linear(q, k, v, *_):
    return at.torch.linear_attention(q, k, v, feature="relu")


def linear_with_function(q, k, v, *_):
    return at.torch.linear_attention(q, k, v, feature=torch.exp)


CALLS = [
    with_text,
    with_mask,
    with_plan,
    with_table,
    with_additive_table,
    with_distances,
    with_dropout,
    linear,
    linear_with_function,
]


@pytest.fixture(autouse=True)
def forget_what_was_compiled():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def results_of(call, inputs):
    results = call(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    watched = [x for x in results if x.requires_grad]
    loss = sum((x * torch.linspace(-1, 1, x.numel()).view(x.shape)).sum() for x in watched)
    return results, torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)


def same(a, b):
    assert len(a[0]) == len(b[0])
    for mine, other in zip((*a[0], *a[1]), (*b[0], *b[1])):
        torch.testing.assert_close(mine, other, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_one_graph_gives_the_same_results_and_gradients(call):
    inputs = tensors()
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    same(results_of(compiled, inputs), results_of(call, inputs))


def test_inductor_compiles_it_too():
    inputs = tensors()
    compiled = torch.compile(with_distances, fullgraph=True, backend="inductor")
    same(results_of(compiled, inputs), results_of(with_distances, inputs))


def test_another_mask_makes_another_graph():
    inputs = tensors()[:3]
    compiled = torch.compile(lambda mask: at.torch.attention(*inputs, mask=mask), fullgraph=True, backend="aot_eager")
    for mask in (at.causal(), at.window(1), at.causal(), "causal(3)", None):
        assert torch.equal(compiled(mask), at.torch.attention(*inputs, mask=mask))


def test_sizes_may_change():
    compiled = torch.compile(
        lambda q: at.torch.attention(q, q, q, mask="causal"), fullgraph=True, backend="aot_eager", dynamic=True
    )
    for n in (5, 9, 17):
        q = torch.randn(1, 2, n, 8, requires_grad=True)
        same(results_of(compiled, [q]), results_of(lambda q: at.torch.attention(q, q, q, mask="causal"), [q]))


def test_dropout_draws_anew_at_every_run_and_as_torch_says():
    inputs = tensors()[:3]
    compiled = torch.compile(lambda *x: at.torch.attention(*x, dropout=0.5), fullgraph=True, backend="aot_eager")
    torch.manual_seed(5)
    first, second = compiled(*inputs), compiled(*inputs)
    torch.manual_seed(5)
    assert torch.equal(first, compiled(*inputs)) and not torch.equal(first, second)
    torch.manual_seed(5)
    assert torch.equal(first, at.torch.attention(*inputs, dropout=0.5))


def test_a_layer_is_compiled_as_one_graph():
    layer = at.nn.RelativePositionAttention(32, 4, max_rel_pos=3)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x = torch.randn(2, 12, 32)
    y = compiled(x, mask="causal")
    torch.testing.assert_close(y, layer(x, mask="causal"))
    y.sum().backward()
    assert layer.relation.grad.abs().sum() > 0


def test_a_mask_with_a_bias_has_no_text():
    mask = at.mask(torch.where(TABLE, 0.5, -torch.inf))
    compiled = torch.compile(lambda *x: at.torch.attention(*x, mask=mask), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="a mask with a bias has no text"):
        compiled(*tensors()[:3])


def test_a_mask_that_requires_a_gradient_is_rejected():
    def call(q, k, v, bias, *_):
        return at.torch.attention(q, k, v, mask=bias)

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="mask requires a gradient"):
        compiled(*tensors()[:3], torch.zeros(9, 11, requires_grad=True))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_torch_finds_nothing_wrong_with_the_operator(dtype, weights):
    q, k, v, bias, _, sink = tensors(dtype=dtype)
    options = (TABLE, torch.tensor(3), "", 0.3, 2.0, False, 0.2, weights)
    torch.library.opcheck(OPERATOR.attention, (q, k, v, bias, sink, *options), atol=1e-5, rtol=1e-2)
    torch.library.opcheck(OPERATOR.attention, (q, k, v), atol=1e-5, rtol=1e-2)


def test_torch_finds_nothing_wrong_with_the_others():
    q, k, v, bias, table, sink = tensors()
    torch.library.opcheck(OPERATOR.linear_attention, (q, k, v, 0, False, 1e-6))
    with torch.no_grad():
        out, lse, _ = OPERATOR.attention(q, k, v, table, sink, mask="causal(2)", by_distance=True)
    x = [y.detach() for y in (q, k, v, table, sink)]
    options = (None, None, "causal(2)", None, None, True, 0.0, out, lse, torch.ones_like(out), torch.ones_like(lse))
    torch.library.opcheck(OPERATOR.attention_backward, (*x, *options, True, False))
    torch.library.opcheck(OPERATOR.linear_backward, (*x[:3], 1, False, 1e-6, out, torch.ones_like(out)))


def test_the_operator_may_be_called_by_itself():
    inputs = tensors()
    out, lse, weights = OPERATOR.attention(*inputs[:3], mask="causal(2)")
    assert torch.equal(out, at.torch.attention(*inputs[:3], mask="causal(2)")) and weights.shape == (0,)
    got = torch.autograd.grad(out.sum() + lse.sum(), inputs[:3], create_graph=True)
    again = at.torch.attention(*inputs[:3], mask="causal(2)", return_lse=True)
    assert all(torch.equal(a, b) for a, b in zip(got, torch.autograd.grad(again[0].sum() + again[1].sum(), inputs[:3])))
    with pytest.raises(RuntimeError, match="no second derivatives"):
        got[0].sum().backward()


def test_export_keeps_the_operator():
    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return at.torch.attention(q, k, v, mask=MASK)

    inputs = tuple(x.detach() for x in tensors()[:3])
    exported = torch.export.export(Model(), inputs)
    assert "attnscope.attention" in str(exported.graph)
    assert torch.equal(exported.module()(*inputs), at.attention(*inputs, mask=MASK))
