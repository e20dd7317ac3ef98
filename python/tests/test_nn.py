"""Tests attention layers against torch's own and against the textbook."""

import copy
import doctest

import attnscope as at
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
import torch_book as book  # noqa: E402


def test_modules_are_loaded_by_name_when_they_are_first_used():
    assert {"nn", "torch"} <= set(dir(at))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        at.nonsense


def by_hand(layer, x, memory, allowed=None, bias=None):
    """Computes y and weights by the formula, in double precision."""
    linear = lambda part, y: y.double() @ part.weight.double().T + part.bias.double()  # noqa: E731
    heads = lambda y, count: y.unflatten(-1, (count, -1)).transpose(1, 2)  # noqa: E731
    q = heads(linear(layer.q, x), layer.num_heads)
    k, v = (heads(linear(part, memory), layer.key_heads) for part in (layer.k, layer.v))
    mixed, _, weights = book.attention(q, k, v, allowed=allowed, bias=bias)
    return linear(layer.out, mixed.transpose(1, 2).flatten(-2)), weights


def given_biases(layer):
    for part in (layer.q, layer.k, layer.v, layer.out):
        torch.nn.init.normal_(part.bias)
    return layer


DOCUMENTED = {
    **{module.__name__: module for module in (at.nn, at.torch)},
    **{f"{module.__name__}.{name}": getattr(module, name) for module in (at.nn, at.torch) for name in module.__all__},
    "from_torch": at.nn.MultiHeadAttention.from_torch,
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_examples_run(name):
    test = doctest.DocTestParser().get_doctest(DOCUMENTED[name].__doc__, {}, name, None, 0)
    assert test.examples
    failures = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=failures.append)
    assert runner.failures == 0, "".join(failures)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bias", [True, False])
def test_a_copy_of_torchs_layer_matches_it(seed, bias):
    torch.manual_seed(seed)
    heads = (1, 2, 4)[seed % 3]
    width = (16, 24, None)[seed % 3]
    theirs = torch.nn.MultiheadAttention(16, heads, bias=bias, kdim=width, vdim=width, batch_first=True)
    if bias:
        torch.nn.init.normal_(theirs.in_proj_bias)
        torch.nn.init.normal_(theirs.out_proj.bias)
    ours = at.nn.MultiHeadAttention.from_torch(theirs)
    x, memory = torch.randn(3, 5, 16), torch.randn(3, 7, width or 16)
    hidden = torch.zeros(3, 7, dtype=torch.bool)
    hidden[1, 4:] = True
    wanted, wanted_weights = theirs(x, memory, memory, key_padding_mask=hidden, average_attn_weights=False)
    y, weights = ours(x, memory, mask=at.padding([7, 4, 7]), return_weights=True)
    torch.testing.assert_close(y, wanted, atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(weights, wanted_weights, atol=1e-6, rtol=1e-5)

    y.square().sum().backward()
    wanted.square().sum().backward()
    want = theirs.out_proj.weight.grad
    torch.testing.assert_close(ours.out.weight.grad, want, atol=1e-5 * want.abs().max().item(), rtol=1e-4)
    if theirs.in_proj_weight is not None:
        wanted = theirs.in_proj_weight.grad.chunk(3)
    else:
        wanted = [getattr(theirs, f"{part}_proj_weight").grad for part in "qkv"]
    for part, want in zip((ours.q, ours.k, ours.v), wanted):
        torch.testing.assert_close(part.weight.grad, want, atol=2e-5 * want.abs().max().item(), rtol=1e-4)


def test_a_state_dict_of_torchs_layer_can_be_loaded_also_inside_a_model():
    theirs = torch.nn.Sequential(torch.nn.MultiheadAttention(16, 4, batch_first=True))
    ours = torch.nn.Sequential(at.nn.SelfAttention(16, 4))
    state = theirs.state_dict()
    before = set(state)
    assert ours.load_state_dict(state).missing_keys == []
    assert set(state) == before
    x = torch.randn(2, 6, 16)
    torch.testing.assert_close(ours(x), theirs[0](x, x, x)[0], atol=1e-6, rtol=1e-5)


def test_its_state_dict_has_plain_names_and_loads_again():
    layer = at.nn.RelativePositionAttention(16, 4, max_rel_pos=2)
    names = [f"{part}.{kind}" for part in ("q", "k", "v", "out") for kind in ("weight", "bias")]
    assert sorted(layer.state_dict()) == sorted([*names, "relation"])
    torch.nn.init.normal_(layer.relation)
    other = at.nn.RelativePositionAttention(16, 4, max_rel_pos=2)
    other.load_state_dict(layer.state_dict())
    x = torch.randn(2, 6, 16)
    assert torch.equal(layer(x), other(x))
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("key_heads", [None, 2, 1])
def test_multi_head_attention_matches_the_formula(key_heads, seed):
    torch.manual_seed(seed)
    layer = given_biases(at.nn.MultiHeadAttention(d_model=128, num_heads=8, key_heads=key_heads))
    x = torch.randn(2, 10, 128)
    y, weights = layer(x, mask="causal", return_weights=True)
    wanted, wanted_weights = by_hand(layer, x, x, torch.ones(10, 10).tril().bool())
    book.agree(y, wanted, 1e-5, "y")
    book.agree(weights, wanted_weights, 1e-5, "weights")
    assert torch.equal(layer(x, mask="causal"), layer(x, x, at.causal()))
    book.agree(layer(x[0], mask="causal"), wanted[0], 1e-5, "without a batch")


def test_self_attention_matches_the_formula():
    layer = given_biases(at.nn.SelfAttention(32, n_heads=4))
    x = torch.randn(2, 9, 32)
    book.agree(layer(x), by_hand(layer, x, x)[0], 1e-5, "y")


def test_cross_attention_looks_at_another_text():
    layer = given_biases(at.nn.CrossAttention(256, 4, dropout=0.1))
    x, memory = torch.randn(2, 10, 256), torch.randn(2, 20, 256)
    ids = torch.ones(2, 20, dtype=torch.long)
    ids[1, 13:] = 0
    allowed = (ids != 0)[:, None, None, :]
    wanted, wanted_weights = by_hand(layer, x, memory, allowed)
    y, weights = layer(x, memory, mask=at.padding_ids(ids), return_weights=True)
    assert weights.shape == (2, 4, 10, 20) and (weights[1, :, :, 13:] == 0).all()
    book.agree(weights, wanted_weights, 1e-5, "weights, before dropout")
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 10))
    assert (y - wanted).abs().max() > 1e-3  # something was dropped
    layer.eval()
    book.agree(layer(x, memory, mask=at.padding_ids(ids)), wanted, 1e-5, "y")


@pytest.mark.parametrize("reach", [0, 1, 3, 40])
def test_relative_positions_are_clamped_and_learned(reach):
    torch.manual_seed(reach)
    layer = given_biases(at.nn.RelativePositionAttention(32, 4, max_rel_pos=reach))
    torch.nn.init.normal_(layer.relation)
    x = torch.randn(2, 15, 32)
    index = (torch.arange(15)[None, :] - torch.arange(15)[:, None]).clamp(-reach, reach) + reach
    relation = layer.relation.detach().double().requires_grad_()
    bias = relation[index].permute(2, 0, 1)
    y, weights = layer(x, mask="causal(4)", return_weights=True)
    wanted, wanted_weights = by_hand(layer, x, x, torch.ones(15, 15).tril(4).bool(), bias)
    book.agree(y, wanted, 1e-5, "y")
    book.agree(weights, wanted_weights, 1e-5, "weights")
    (got,) = torch.autograd.grad(y.square().sum(), layer.relation)
    (want,) = torch.autograd.grad(wanted.square().sum(), relation)
    book.agree(got, want, 1e-4, "gradient of the relation")


def test_dropout_uses_torchs_generator_and_is_off_in_evaluation():
    layer = at.nn.SelfAttention(16, 2, dropout=0.5)
    x = torch.randn(2, 8, 16)
    torch.manual_seed(3)
    first, second = layer(x), layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), first) and not torch.equal(first, second)
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_a_layer_learns_to_copy_the_token_before():
    torch.manual_seed(0)
    layer = at.nn.RelativePositionAttention(16, 2, max_rel_pos=4)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    losses = []
    for _ in range(150):
        x = torch.randn(8, 12, 16)
        target = torch.cat([torch.zeros(8, 1, 16), x[:, :-1]], 1)
        loss = (layer(x, mask="causal") - target)[:, 1:].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sixteen_bit_layers_work(dtype):
    layer = at.nn.SelfAttention(16, 2, dtype=dtype)
    x = torch.randn(1, 5, 16, dtype=dtype)
    y = layer(x)
    assert y.dtype is dtype
    y.sum().backward()
    assert layer.q.weight.grad.dtype is dtype


def test_repr_shows_the_options():
    text = repr(at.nn.RelativePositionAttention(32, 4, max_rel_pos=8, key_heads=2, dropout=0.1))
    assert "d_model=32, num_heads=4, key_heads=2, dropout=0.1, max_rel_pos=8" in text
    assert "memory_width=24" in repr(at.nn.CrossAttention(32, 4, memory_width=24))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: at.nn.MultiHeadAttention(100, 8), "100 is not divisible by 8"),
        (lambda: at.nn.SelfAttention(100, 0), "100 is not divisible by 0"),
        (lambda: at.nn.SelfAttention(64, 8, key_heads=3), "8 heads cannot share 3"),
        (lambda: at.nn.CrossAttention(64, 8, dropout=1.0), "dropout is 1.0"),
        (lambda: at.nn.RelativePositionAttention(64, 8, max_rel_pos=-1), "max_rel_pos is -1"),
        (lambda: at.nn.SelfAttention(8, 2)(torch.ones(2, 3, 7)), r"x is \[2, 3, 7\]; it must be \[B, N, 8\]"),
        (lambda: at.nn.CrossAttention(8, 2)(torch.ones(3, 8), torch.ones(3, 7)), r"memory is \[3, 7\]"),
        (
            lambda: at.nn.MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(8, 2, add_zero_attn=True)),
            "add_zero_attn",
        ),
        (
            lambda: at.nn.MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(8, 2, kdim=4, vdim=6)),
            "kdim is 4 and vdim 6",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()
