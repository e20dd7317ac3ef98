"""The same numbers as torch's scaled_dot_product_attention, computed there in double precision."""

import attnscope as at
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
sdpa = torch.nn.functional.scaled_dot_product_attention

# B, H, G, N, M, D, E
SHAPES = [
    (1, 1, 1, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, 8, 8),
    (1, 1, 1, 3, 5, 7, 9),
    (1, 2, 2, 16, 16, 64, 64),
    (2, 3, 3, 13, 13, 5, 5),
    (2, 4, 2, 12, 12, 16, 16),
    (1, 8, 1, 65, 65, 32, 32),
    (1, 6, 3, 31, 130, 24, 40),
    (3, 2, 2, 130, 31, 33, 17),
    (1, 1, 1, 200, 200, 64, 64),
    (2, 2, 1, 63, 64, 128, 128),
    (1, 4, 4, 1, 300, 64, 64),
    (1, 8, 2, 1, 257, 64, 32),
    (1, 8, 2, 7, 129, 72, 72),
    (32, 2, 2, 9, 9, 8, 8),
    (1, 1, 1, 24, 24, 512, 512),
]
MASKS = ["everything", "causal", "window(3)", "causal & window(20,0)", "~block(4)", "sparse(5)", "global(2) | causal"]
TYPES = {"float32": (torch.float32, 3e-6), "float16": (torch.float16, 1e-3), "bfloat16": (torch.bfloat16, 8e-3)}


def tensors(shape, dtype=torch.float32, seed=0):
    b, h, g, n, m, d, e = shape
    make = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=make).to(dtype) for size in ((b, h, n, d), (b, g, m, d), (b, g, m, e))]


def expected(q, k, v, table=None, **options):
    """A row that may see nothing is NaN in some versions of torch and zero in others: zero is what we promise."""
    out = sdpa(q.double(), k.double(), v.double(), attn_mask=table, enable_gqa=True, **options)
    if table is not None and table.dtype is torch.bool:
        out = torch.where(table.any(-1, keepdim=True), out, torch.zeros((), dtype=out.dtype))
    return out


def agree(out, wanted, tolerance):
    assert out.shape == wanted.shape
    scale = max(1.0, wanted.abs().max().item()) if wanted.numel() else 1.0
    assert (out.double() - wanted).abs().max().item() <= tolerance * scale


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_mask_matches_sdpa_with_its_table(shape, mask):
    q, k, v = tensors(shape)
    table = torch.from_numpy(at.mask(mask).table(q.shape[2], k.shape[2]))
    agree(at.attention(q, k, v, mask=mask), expected(q, k, v, table), 3e-6)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", SHAPES[2:12], ids=str)
def test_the_output_has_the_dtype_of_the_input(shape, name):
    dtype, tolerance = TYPES[name]
    q, k, v = tensors(shape, dtype)
    out = at.attention(q, k, v, mask=at.causal())
    assert out.dtype is dtype
    table = torch.ones(q.shape[2], k.shape[2]).tril().bool()
    agree(out, expected(q, k, v, table), tolerance)


@pytest.mark.parametrize("name", TYPES)
def test_each_argument_may_have_its_own_dtype(name):
    q, k, v = tensors((1, 4, 2, 9, 70, 16, 16))
    dtype, _ = TYPES[name]
    out = at.attention(q, k.to(dtype), v.to(dtype))
    assert out.dtype is torch.float32
    agree(out, expected(q, k.to(dtype), v.to(dtype)), 3e-6)


@pytest.mark.parametrize("shape", SHAPES[2:9], ids=str)
def test_boolean_tables_match_sdpa(shape, rng):
    q, k, v = tensors(shape)
    b, h, _, n, m, _, _ = shape
    for size in ((n, m), (b, 1, n, m), (1, h, n, m), (b, h, n, m), (b, 1, 1, m)):
        table = torch.from_numpy(rng.random(size) < 0.6)
        agree(at.attention(q, k, v, mask=table), expected(q, k, v, table), 3e-6)


@pytest.mark.parametrize("forbidden", [-1e9, -np.inf, np.finfo(np.float32).min])
@pytest.mark.parametrize("shape", SHAPES[3:8], ids=str)
def test_additive_tables_forbid_and_add(shape, forbidden, rng):
    q, k, v = tensors(shape)
    n, m = q.shape[2], k.shape[2]
    values = rng.standard_normal((n, m), dtype=np.float32)
    values[rng.random((n, m)) < 0.4] = forbidden
    values[:, 0] = 0.5  # every row may see something
    table = torch.from_numpy(values)
    agree(at.attention(q, k, v, mask=table), expected(q, k, v, table.double()), 3e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_lowest_number_of_a_half_table_forbids(dtype):
    q, k, v = tensors((1, 2, 2, 4, 4, 8, 8))
    table = torch.zeros(4, 4, dtype=dtype)
    table[2] = torch.finfo(dtype).min
    out = at.attention(q, k, v, mask=table)
    assert (out[:, :, 2] == 0).all() and (out[:, :, 1] != 0).any()


@pytest.mark.parametrize("size", [(9, 11), (4, 9, 11), (2, 4, 9, 11), (2, 1, 9, 11), (1, 1, 1, 11)], ids=str)
def test_dense_bias_broadcasts_as_torch_does(size):
    q, k, v = tensors((2, 4, 2, 9, 11, 8, 8))
    bias = torch.randn(size)
    agree(at.attention(q, k, v, bias=bias), expected(q, k, v, bias.double()), 3e-6)


@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, -0.5])
def test_scale_is_used_as_given(scale):
    q, k, v = tensors((1, 2, 2, 20, 20, 8, 8))
    agree(at.attention(q, k, v, scale=scale), expected(q, k, v, scale=scale), 3e-6)


def transposed(x):
    """[B, N, H, D] seen as [B, H, N, D], as a projection leaves it."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def with_gaps(x):
    wide = torch.zeros(*x.shape[:-1], x.shape[-1] + 3)
    wide[..., 1:-2] = x
    return wide[..., 1:-2]


def every_other(x):
    many = torch.zeros(x.shape[0], x.shape[1], 2 * x.shape[2], x.shape[3])
    many[:, :, ::2] = x
    return many[:, :, ::2]


@pytest.mark.parametrize("layout", [transposed, with_gaps, every_other])
@pytest.mark.parametrize("shape", SHAPES[3:8], ids=str)
@pytest.mark.filterwarnings("error")
def test_strided_tensors_are_read_in_place(shape, layout):
    q, k, v = tensors(shape)
    out = at.attention(*(layout(x) for x in (q, k, v)), mask=at.causal())
    assert torch.equal(out, at.attention(q, k, v, mask=at.causal()))


@pytest.mark.filterwarnings("error")
def test_expanded_tensors_have_stride_zero_and_are_not_copied():
    q, k, v = tensors((2, 4, 1, 12, 12, 8, 8))
    out = at.attention(q, k.expand(2, 4, 12, 8), v.expand(2, 4, 12, 8))
    agree(out, expected(q, k, v), 3e-6)


def test_a_lazily_negated_view_is_read_negated():
    z = torch.randn(1, 1, 4, 8, dtype=torch.complex64)
    negated = z.conj().imag
    with pytest.warns(UserWarning, match="q is copied"):
        out = at.attention(negated, z.real.contiguous(), z.real.contiguous())
    agree(out, expected(-z.imag, z.real, z.real), 3e-6)


def test_a_dense_view_that_is_lazily_negated_is_read_negated():
    for shape in ((1, 1, 4, 8), (1, 1, 4, 1)):
        x = torch.randn(shape)
        negated = torch._neg_view(x)
        assert negated.is_neg() and negated.is_contiguous()
        for arguments, wanted in (
            ((negated, x, x), (-x, x, x)),
            ((x, negated, x), (x, -x, x)),
            ((x, x, negated), (x, x, -x)),
        ):
            with pytest.warns(UserWarning, match="lazily negated"):
                out = at.attention(*arguments)
            assert torch.equal(out, at.attention(*wanted))
    bias = torch.randn(4, 4)
    with pytest.warns(UserWarning, match="bias is copied"):
        out = at.attention(x, x, x, bias=torch._neg_view(bias))
    assert torch.equal(out, at.attention(x, x, x, bias=-bias))
    assert torch.equal(at.attention(x, x, x, mask=torch._neg_view(bias)), at.attention(x, x, x, mask=-bias))


def test_a_parameter_has_a_gradient_but_not_inside_no_grad():
    q = torch.nn.Parameter(torch.randn(1, 1, 4, 8))
    with torch.no_grad():
        out, lse = at.attention(q, q, q, return_lse=True)
    assert not out.requires_grad and type(out) is torch.Tensor
    watched = at.attention(q, q, q)
    assert watched.requires_grad and torch.equal(watched, out)
    assert torch.equal(at.attention(q.detach(), q.detach(), q.detach()), out)
    with pytest.raises(RuntimeError, match=r"q requires a gradient, which this call does not.*detach\(\).*no_grad"):
        at.weights(q, q, lse)


def test_linear_attention_matches_the_formula_in_torch():
    q, k, v = tensors((2, 4, 2, 50, 50, 16, 24))
    keys, values = (x.double().repeat_interleave(2, 1) for x in (k, v))
    phi = lambda x: torch.nn.functional.elu(x.double()) + 1  # noqa: E731
    table = (phi(q) @ phi(keys).mT).tril()
    agree(at.linear_attention(q, k, v, causal=True), table @ values / table.sum(-1, keepdim=True), 1e-5)
    table = phi(q) @ phi(keys).mT
    agree(at.linear_attention(q, k, v), table @ values / table.sum(-1, keepdim=True), 1e-5)
