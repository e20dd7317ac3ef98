"""Which arguments are accepted, copied or rejected, and the error messages."""

import array

import attnscope as at
import numpy as np
import pytest


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64, np.bool_, np.complex64, ">f4"])
@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_another_dtype_is_rejected_by_name(dtype, name):
    arrays = {"q": ones(2, 3), "k": ones(2, 3), "v": ones(2, 3)}
    arrays[name] = arrays[name].astype(dtype)
    dtype_name = str(np.dtype(dtype))
    with pytest.raises(TypeError, match=f"{name} has the dtype {dtype_name}; use float32, float16 or bfloat16"):
        at.attention(**arrays)


@pytest.mark.parametrize("thing", [[[1.0, 2.0]], 3.0, None, "q", array.array("f", [1, 2])])
def test_anything_but_an_array_is_rejected(thing):
    with pytest.raises(TypeError, match=f"k must be a numpy array or a torch tensor, not {type(thing).__name__}"):
        at.attention(ones(1, 2), thing, ones(1, 2))


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ((1, 2, 4, 8), (1, 2, 4, 7), (1, 2, 4, 8)),
        ((1, 2, 4, 8), (2, 2, 4, 8), (2, 2, 4, 8)),
        ((1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 5, 8)),
        ((1, 5, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8)),
        ((1, 2, 4, 8), (1, 2, 4, 8), (1, 1, 4, 8)),
        ((1, 2, 4, 0), (1, 2, 4, 0), (1, 2, 4, 8)),
        ((8,), (4, 8), (4, 8)),
        ((1, 1, 1, 4, 8), (4, 8), (4, 8)),
    ],
)
def test_shapes_that_disagree_are_a_value_error(q, k, v):
    with pytest.raises(ValueError):
        at.attention(ones(*q), ones(*k), ones(*v))


def test_the_message_names_the_sizes():
    with pytest.raises(ValueError, match="(?s)5.*2"):
        at.attention(ones(1, 5, 4, 8), ones(1, 2, 4, 8), ones(1, 2, 4, 8))


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("dropout", 1.0, ValueError),
        ("dropout", -0.1, ValueError),
        ("dropout", "much", TypeError),
        ("scale", "1", TypeError),
        ("softcap", -1.0, ValueError),
        ("seed", -1, ValueError),
        ("seed", 2**64, ValueError),
        ("seed", 0.5, TypeError),
        ("sink", np.ones(3, np.float32), ValueError),
        ("sink", np.ones((2, 1), np.float32), ValueError),
        ("sink", np.ones(2, np.int32), TypeError),
        ("bias", np.ones((5, 4), np.float32), ValueError),
        ("bias", at.distance_bias(np.ones((2, 6), np.float32)), ValueError),
        ("bias", "alibi", TypeError),
        ("mask", np.ones((5, 4), bool), ValueError),
        ("mask", np.ones((4, 4), np.int64), TypeError),
        ("mask", "causl", ValueError),
        ("mask", np.ones((1, 1, 1, 4, 4), bool), ValueError),
        ("mask", at.padding([1, 2, 3]), ValueError),
        ("mask", at.plan("causal", 1, 2, 5, 5), ValueError),
    ],
)
def test_options_out_of_range_are_rejected(option, value, error):
    q = ones(1, 2, 4, 8)
    with pytest.raises(error):
        at.attention(q, q, q, **{option: value})


def test_unknown_options_are_rejected():
    q = ones(4, 8)
    with pytest.raises(TypeError, match="is_causal"):
        at.attention(q, q, q, is_causal=True)


def test_a_last_axis_that_is_not_contiguous_is_copied_with_a_warning(rng):
    q = rng.standard_normal((4, 8), dtype=np.float32)
    with pytest.warns(UserWarning, match="k is copied: its last axis is not contiguous") as caught:
        out = at.attention(q, np.asfortranarray(q), q)
    assert caught[0].filename == __file__
    assert np.array_equal(out, at.attention(q, q, q))


def test_unaligned_elements_are_copied_too(rng):
    q = rng.standard_normal((4, 8), dtype=np.float32)
    odd = np.zeros(4 * 8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 8)
    odd[...] = q
    records = np.zeros(4, dtype=[("skip", np.int8), ("row", np.float32, 8)])
    records["row"] = q
    for x in (odd, records["row"]):
        with pytest.warns(UserWarning, match="q is copied"):
            assert np.array_equal(at.attention(x, q, q), at.attention(q, q, q))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", ["reversed", "transposed", "gaps", "repeated"])
def test_strided_arrays_are_read_in_place(rng, change):
    x = rng.standard_normal((2, 3, 6, 8), dtype=np.float32)
    view = {
        "reversed": x[:, :, ::-1],
        "transposed": x.transpose(0, 2, 1, 3),
        "gaps": x[..., 1:6],
        "repeated": np.broadcast_to(x[:1], x.shape),
    }[change]
    plain = np.ascontiguousarray(view)
    assert np.array_equal(at.attention(view, view, view), at.attention(plain, plain, plain))


@pytest.mark.filterwarnings("error")
def test_read_only_arrays_are_fine(qkv):
    for x in qkv:
        x.flags.writeable = False
    assert np.isfinite(at.attention(*qkv)).all()


def test_inputs_are_not_modified(qkv):
    before = [x.copy() for x in qkv]
    at.attention(*qkv, mask="causal", return_weights=True, return_lse=True)
    assert all(np.array_equal(a, b) for a, b in zip(before, qkv))


def test_numpy_float16_gives_float16(qkv):
    halves = [x.astype(np.float16) for x in qkv]
    out, lse = at.attention(*halves, return_lse=True)
    assert out.dtype == np.float16 and lse.dtype == np.float32
    np.testing.assert_allclose(out, at.attention(*(x.astype(np.float32) for x in halves)), atol=2e-3)


def test_bfloat16_of_ml_dtypes_is_accepted(qkv):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    q, k, v = (x.astype(bfloat16) for x in qkv)
    out = at.attention(q, k, v)
    assert out.dtype == bfloat16
    wanted = at.attention(*(x.astype(np.float32) for x in (q, k, v)))
    np.testing.assert_allclose(out.astype(np.float32), wanted, atol=2e-2)
    assert np.array_equal(at.attention(q[:, :, ::2], k, v), out[:, :, ::2])


def test_masked_arrays_are_rejected():
    q = ones(2, 4)
    with pytest.raises(TypeError, match="masked array"):
        at.attention(np.ma.masked_array(q, q > 0), q, q)


class OnlyDlpack:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_other_arrays_are_read_through_dlpack(qkv):
    out = at.attention(*(OnlyDlpack(x) for x in qkv), mask=OnlyDlpack(np.ones((10, 10), np.float32)))
    assert type(out) is np.ndarray
    assert np.array_equal(out, at.attention(*qkv, mask=np.ones((10, 10), np.float32)))


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.torch = pytest.importorskip("torch", reason="torch is not installed")

    def test_the_kind_of_q_decides_the_kind_of_the_result(self, qkv):
        q, k, v = qkv
        tq, tk, tv = (self.torch.from_numpy(x) for x in qkv)
        plain = at.attention(q, k, v, return_lse=True, return_weights=True)
        for got in (at.attention(tq, a, b, return_lse=True, return_weights=True) for a, b in ((tk, tv), (k, v))):
            assert all(type(x) is self.torch.Tensor for x in got)
            assert all(np.array_equal(a, b.numpy()) for a, b in zip(plain, got))
        assert type(at.attention(q, tk, tv)) is np.ndarray
        assert type(at.weights(tq, tk, plain[1])) is self.torch.Tensor
        assert type(at.linear_attention(tq, tk, tv)) is self.torch.Tensor

    @pytest.mark.parametrize("dtype", ["float64", "int64", "complex64", "bool"])
    def test_another_dtype_is_rejected_by_name(self, dtype):
        q = self.torch.ones(2, 4)
        wrong = q.to(getattr(self.torch, dtype))
        with pytest.raises(TypeError, match=rf"v has the dtype torch.{dtype}; .*pass v.float\(\)"):
            at.attention(q, q, wrong)

    def test_another_device_is_refused_by_name(self):
        q = self.torch.ones(2, 4)
        with pytest.raises(TypeError, match="k is on the device meta"):
            at.attention(q, q.to("meta"), q)
        with pytest.raises(TypeError, match="mask is on the device meta"):
            at.attention(q, q, q, mask=self.torch.ones(2, 2, dtype=bool, device="meta"))

    def test_a_sparse_tensor_is_refused(self):
        q = self.torch.ones(2, 4)
        with pytest.raises(TypeError, match="q has the layout torch.sparse_coo"):
            at.attention(q.to_sparse(), q, q)

    def test_a_last_axis_that_is_not_contiguous_is_copied_with_a_warning(self):
        q = self.torch.randn(4, 8)
        with pytest.warns(UserWarning, match="q is copied"):
            out = at.attention(q.T.contiguous().T, q, q)
        assert self.torch.equal(out, at.attention(q, q, q))

    def test_default_dtype_and_device_do_not_matter(self):
        q = self.torch.ones(2, 4)
        self.torch.set_default_dtype(self.torch.float64)
        try:
            with self.torch.device("meta"):
                out = at.attention(q, q, q)
        finally:
            self.torch.set_default_dtype(self.torch.float32)
        assert out.dtype is self.torch.float32 and out.device.type == "cpu"

    def test_empty_tensors_have_no_address_and_still_work(self):
        q = self.torch.ones(1, 2, 0, 8)
        k = self.torch.ones(1, 2, 3, 8)
        assert at.attention(q, k, k).shape == (1, 2, 0, 8)
        assert (at.attention(k, q, q) == 0).all()

    def test_bias_and_sink_may_be_halves(self, qkv):
        q, k, v = (self.torch.from_numpy(x) for x in qkv)
        bias, sink = self.torch.randn(10, 10).half(), self.torch.randn(3).bfloat16()
        out = at.attention(q, k, v, bias=bias, sink=sink)
        assert self.torch.equal(out, at.attention(q, k, v, bias=bias.float(), sink=sink.float()))


def test_dlpack_that_numpy_cannot_read_raises_a_clear_error():
    torch = pytest.importorskip("torch")

    class Elsewhere:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    taken = Elsewhere(torch.ones(2, 4))
    assert at.attention(taken, taken, taken).shape == (2, 4)
    q = Elsewhere(torch.ones(2, 4, dtype=torch.bfloat16))
    with pytest.raises(TypeError, match="^q cannot be converted by numpy"):
        at.attention(q, q, q)


def test_unaligned_numbers_are_copied_with_a_warning():
    q = np.frombuffer(b"\0" + np.ones((2, 4), np.float32).tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 4)
    with pytest.warns(UserWarning, match="not aligned"):
        assert (at.attention(q, np.ones((2, 4), np.float32), np.ones((2, 4), np.float32)) == 1).all()


def test_rows_that_are_not_a_range_are_rejected(rng):
    q = rng.standard_normal((4, 8), dtype=np.float32)
    _, lse = at.attention(q, q, q, return_lse=True)
    with pytest.raises(TypeError, match="rows must be a slice, a range or a number, not list"):
        at.weights(q, q, lse, rows=[1, 3])
