"""Compares scaled_dot_product_attention() with torch's own, on a grid of cases and on torch's samples."""

import itertools
import math

import attnscope as at
import numpy as np
import pytest
import textbook

torch = pytest.importorskip("torch")
THEIRS = torch.nn.functional.scaled_dot_product_attention

TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 4e-2}

# Shapes of query, key and value.
SHAPES = {
    "2 axes": ((4, 8), (6, 8), (6, 8)),
    "3 axes": ((3, 4, 8), (3, 6, 8), (3, 6, 5)),
    "4 axes": ((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8)),
    "square": ((2, 2, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8)),
    "5 axes": ((2, 1, 3, 4, 8), (2, 2, 3, 6, 8), (2, 2, 3, 6, 8)),
    "broadcast": ((3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8)),
    "value broadcasts": ((3, 4, 8), (3, 6, 8), (5, 3, 6, 8)),
    "one key head": ((2, 3, 4, 8), (2, 1, 6, 8), (2, 1, 6, 8)),
    "one query": ((2, 3, 1, 8), (2, 3, 6, 8), (2, 3, 6, 8)),
    "no key": ((2, 3, 4, 8), (2, 3, 0, 8), (2, 3, 0, 8)),
    "no query": ((2, 3, 0, 8), (2, 3, 6, 8), (2, 3, 6, 8)),
    "no sequence": ((0, 3, 4, 8), (0, 3, 6, 8), (0, 3, 6, 8)),
    "no width": ((2, 3, 4, 0), (2, 3, 6, 0), (2, 3, 6, 8)),
    "no value width": ((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 0)),
    "wide": ((1, 2, 3, 520), (1, 2, 4, 520), (1, 2, 4, 520)),
}


def tensors(shapes, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def masks(lead, queries, keys, dtype):
    """Masks of every broadcastable shape, boolean and additive, some with a row that sees nothing."""
    generator = torch.Generator().manual_seed(1)
    for lacking in range(len(lead) + 1):
        for head, row, key in itertools.product((False, True), repeat=3):
            sizes = [1 if head else n for n in lead[lacking:]]
            shape = (*sizes, 1 if row else queries, 1 if key else keys)
            table = torch.rand(shape, generator=generator) > 0.4
            if table.numel():
                table[..., 0, :] = False
            yield table
            yield torch.randn(shape, generator=generator).to(dtype).masked_fill(~table, -math.inf)


def compare(arguments, options, what):
    ours_in = [x.clone().requires_grad_(x.is_floating_point()) for x in arguments]
    theirs_in = [x.clone().requires_grad_(x.is_floating_point()) for x in arguments]
    ours, theirs = at.torch.scaled_dot_product_attention(*ours_in, **options), THEIRS(*theirs_in, **options)
    near(ours, theirs, what)
    weight = torch.randn(theirs.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).to(theirs.dtype)
    learned = [(x, y) for x, y in zip(ours_in, theirs_in) if x.requires_grad]
    found = torch.autograd.grad((ours * weight).sum(), [x for x, _ in learned], allow_unused=True)
    wanted = torch.autograd.grad((theirs * weight).sum(), [y for _, y in learned], allow_unused=True)
    for n, (x, y) in enumerate(zip(found, wanted)):
        if y is not None and not y.isnan().any():
            near(x, y, f"{what}, gradient {n}")


def near(ours, theirs, what):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, what
    if theirs.numel():
        scale = max(1.0, theirs.abs().max().item())
        error = (ours.double() - theirs.double()).abs().max().item()
        assert error <= TOLERANCE[theirs.dtype] * scale, f"{what}: off by {error:.3g}"


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_options_give_torchs_results_and_gradients(name, dtype):
    arguments = tensors(SHAPES[name], dtype)
    for options in ({}, {"is_causal": True}, {"scale": 0.3}, {"scale": 0.2, "is_causal": True}, {"scale": -0.5}):
        compare(arguments, options, f"{name}, {options}")


@pytest.mark.parametrize("name", ["2 axes", "3 axes", "4 axes", "square", "5 axes", "broadcast", "one query", "no key"])
def test_masks_of_every_shape_give_torchs_results_and_gradients(name):
    for dtype in (torch.float32, torch.float64):
        arguments = tensors(SHAPES[name], dtype)
        lead = torch.broadcast_shapes(*(x.shape[:-2] for x in arguments[:2]))
        for mask in masks(lead, arguments[0].shape[-2], arguments[1].shape[-2], dtype):
            compare([*arguments, mask], {}, f"{name}, {mask.dtype} {list(mask.shape)}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_shared_heads_give_torchs_results_and_gradients(dtype):
    for key_heads, value_heads in ((3, 3), (6, 6), (1, 1), (3, 2), (1, 6)):
        shapes = ((2, 6, 4, 8), (2, key_heads, 7, 8), (2, value_heads, 7, 8))
        arguments = tensors(shapes, dtype)
        compare(arguments, {"enable_gqa": True, "is_causal": True}, f"{key_heads} and {value_heads} heads")
        mask = torch.rand(6, 4, 7, generator=torch.Generator().manual_seed(3)) > 0.3
        compare([*arguments, mask], {"enable_gqa": True}, f"{key_heads} and {value_heads} heads, masked")


def test_finite_numbers_in_a_mask_forbid_nothing():
    q, k, v = tensors(SHAPES["4 axes"], torch.float32)
    for lowest in (torch.finfo(torch.float32).min, -1e9, -1e38):
        mask = torch.zeros(4, 6).masked_fill(torch.rand(4, 6, generator=torch.Generator().manual_seed(4)) > 0.5, lowest)
        mask[1] = lowest
        near(at.torch.scaled_dot_product_attention(q, k, v, mask), THEIRS(q, k, v, mask), str(lowest))
        numpy = at.scaled_dot_product_attention(q.numpy(), k.numpy(), v.numpy(), mask.numpy())
        near(torch.from_numpy(numpy), THEIRS(q, k, v, mask), f"numpy, {lowest}")


def test_what_torch_refuses_is_refused():
    q, k, v = tensors(SHAPES["4 axes"], torch.float32)
    everything = torch.ones(4, 6, dtype=torch.bool)
    for arguments, options in (
        ((q, k, v, everything), {"is_causal": True}),
        ((q, k.double(), v), {}),
        ((q, k, v, everything.long()), {}),
        ((q, k, v, everything.double()), {}),
        ((q, k, v, torch.ones(2, 4, 6, dtype=torch.bool)), {}),
        ((q[0], k[0], v[0], torch.ones(5, 3, 4, 6, dtype=torch.bool)), {}),
        ((q[:, :2], k, v), {}),
        ((q[:, :2], k, v), {"enable_gqa": True}),
        ((q[..., :7], k, v), {}),
        ((q[0, 0, 0], k[0, 0, 0], v[0, 0, 0]), {}),
        ((q, k, v), {"dropout_p": 1.5}),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            THEIRS(*arguments, **options)
        with pytest.raises(RuntimeError):
            at.torch.scaled_dot_product_attention(*arguments, **options)
        with pytest.raises(ValueError):
            at.scaled_dot_product_attention(*(x.numpy() for x in arguments), **options)


def test_causal_biases_of_torch_are_rules():
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    q, k, v = tensors(SHAPES["4 axes"], torch.float32)
    for bias in (causal_lower_right(4, 6), causal_upper_left(4, 6)):
        near(at.torch.scaled_dot_product_attention(q, k, v, bias), THEIRS(q, k, v, bias), "bias")
        near(at.attention(q, k, v, mask=bias), THEIRS(q, k, v, bias), "mask=")
        assert at.mask(bias) in (at.causal(), at.causal(2))
    with pytest.raises(ValueError, match="3 x 6"):
        at.attention(q, k, v, mask=causal_upper_left(3, 6))
    with pytest.raises(TypeError, match="CausalBias"):
        at.attention(q, k, v, bias=causal_upper_left(4, 6))


def test_dropout_keeps_the_expected_share():
    ones = torch.ones(1, 8, 64, 64)
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(5)
        out = at.torch.scaled_dot_product_attention(ones.to(dtype), ones.to(dtype), ones.to(dtype), dropout_p=0.25)
        assert abs(out.mean().item() - 1) < 0.02 and out.std().item() > 0.01
        assert not at.torch.scaled_dot_product_attention(ones, ones, ones, dropout_p=1.0).any()
    np.random.seed(6)
    out = at.scaled_dot_product_attention(*(ones.numpy(),) * 3, dropout_p=0.25)
    assert abs(out.mean() - 1) < 0.02 and out.std() > 0.01


def test_numpy_gives_the_same(rng):
    for dtype in (np.float16, np.float32, np.float64):
        for name, shapes in SHAPES.items():
            arguments = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
            out = at.scaled_dot_product_attention(*arguments, is_causal=True)
            near(torch.from_numpy(out), THEIRS(*map(torch.from_numpy, arguments), is_causal=True), name)
    q, k, v = (rng.standard_normal((6, 5, 8)) for _ in range(3))
    allowed = np.tri(5, dtype=bool)
    wanted = textbook.attention(q, k, v, allowed=allowed)[0]
    assert np.abs(at.scaled_dot_product_attention(q, k, v, attn_mask=allowed) - wanted).max() < 1e-12


def test_gradcheck_passes_in_double_precision():
    arguments = [x.requires_grad_() for x in tensors(((2, 3, 4), (2, 5, 4), (2, 5, 3)), torch.float64)]
    mask = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    function = at.torch.scaled_dot_product_attention
    assert torch.autograd.gradcheck(function, (*arguments, mask), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, (*arguments, mask))


def samples(dtype):
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        pytest.skip(f"torch's samples cannot be imported: {error}")
    (info,) = (op for op in op_db if op.name == "nn.functional.scaled_dot_product_attention")
    return list(info.sample_inputs("cpu", dtype, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_torchs_own_samples_agree(dtype):
    compared = 0
    for sample in samples(dtype):
        arguments = [x.detach() for x in (sample.input, *sample.args)]
        options = dict(sample.kwargs)
        if options.get("dropout_p"):
            assert (
                at.torch.scaled_dot_product_attention(*arguments, **options).shape
                == THEIRS(*arguments, **options).shape
            )
            continue
        if "attn_mask" in options:
            arguments.append(options.pop("attn_mask").detach())
        compare(arguments, options, str(options))
        compared += 1
    assert compared >= 10


def test_other_devices_are_left_to_torch():
    from torch.nn.attention.bias import causal_lower_right

    q, k, v = (x.to("meta") for x in tensors(SHAPES["4 axes"], torch.float32))
    for options in ({}, {"is_causal": True}, {"attn_mask": causal_lower_right(4, 6)}):
        out = at.torch.scaled_dot_product_attention(q, k, v, **options)
        assert out.device.type == "meta" and out.shape == (2, 3, 4, 8)


def test_it_compiles_into_one_graph():
    call = torch.compile(at.torch.scaled_dot_product_attention, backend="eager", fullgraph=True)
    for dtype in (torch.float32, torch.float64):
        arguments = tensors(SHAPES["broadcast"], dtype)
        mask = torch.ones(4, 1, dtype=torch.bool)
        near(call(*arguments, is_causal=True), THEIRS(*arguments, is_causal=True), "causal")
        near(call(*arguments, mask), THEIRS(*arguments, mask), "mask")
        near(call(*arguments, mask.to(dtype)), THEIRS(*arguments, mask.to(dtype)), "bias")


def test_it_can_take_the_place_of_torchs_function(monkeypatch):
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(7))
    wanted = layer(x, is_causal=True, src_mask=torch.nn.Transformer.generate_square_subsequent_mask(5))
    calls = []

    def counted(*args, **options):
        calls.append(args)
        return at.torch.scaled_dot_product_attention(*args, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", counted)
    got = layer(x, is_causal=True, src_mask=torch.nn.Transformer.generate_square_subsequent_mask(5))
    assert calls and torch.allclose(got, wanted, atol=1e-5)
