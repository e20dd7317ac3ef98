"""Tests gradients through at.torch: which inputs have one, what is kept for them, and what is rejected."""

import os
import pathlib
import subprocess
import sys
import warnings

import attnscope as at
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
import torch_book as book  # noqa: E402


def tensors(b=2, h=4, g=2, n=9, m=11, d=8, e=5, seed=0, dtype=torch.float32):
    make = torch.Generator().manual_seed(seed)
    sizes = ((b, h, n, d), (b, g, m, d), (b, g, m, e))
    return [torch.randn(size, generator=make).to(dtype).requires_grad_() for size in sizes]


# gradcheck steps by eps and divides by it: in float32, 2e-3 is what is left of the digits.
CHECK = {"eps": 1e-2, "atol": 2e-3, "rtol": 1e-2, "fast_mode": False, "nondet_tol": 0.0}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mask": "causal(1) & window(2)"},
        {"mask": at.padding([3, 0])},
        {"softcap": 1.5, "scale": 0.7},
        {"dropout": 0.4, "seed": 3},
        {"return_lse": True},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Input #")
def test_gradcheck_passes_in_float32(options):
    q, k, v = tensors(b=2, h=2, g=1, n=3, m=4, d=3, e=2)
    assert torch.autograd.gradcheck(lambda *x: at.torch.attention(*x, **options), (q, k, v), **CHECK)


@pytest.mark.filterwarnings("ignore:Input #")
def test_gradcheck_passes_for_bias_distances_and_sink():
    q, k, v = tensors(b=2, h=2, g=1, n=3, m=4, d=3, e=2)
    dense, table = torch.randn(2, 3, 4, requires_grad=True), torch.randn(2, 6, requires_grad=True)
    sink = torch.randn(2, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda q, k, v, b, s: at.torch.attention(q, k, v, bias=b, sink=s), (q, k, v, dense, sink), **CHECK
    )
    assert torch.autograd.gradcheck(
        lambda q, k, v, t: at.torch.attention(q, k, v, bias=at.distance_bias(t)), (q, k, v, table), **CHECK
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("feature", ["elu+1", "relu", "identity"])
@pytest.mark.filterwarnings("ignore:Input #")
def test_gradcheck_passes_for_linear_attention(feature, causal):
    q, k, v = tensors(b=1, h=2, g=1, n=4, m=4, d=3, e=2)
    if feature != "elu+1":  # away from the corner of relu, and from divisors near zero
        q, k = (x.detach().abs().add(0.2).requires_grad_() for x in (q, k))
    assert torch.autograd.gradcheck(
        lambda *x: at.torch.linear_attention(*x, feature=feature, causal=causal), (q, k, v), **CHECK
    )


def textbook_linear(q, k, v, phi, causal):
    group = q.shape[1] // k.shape[1]
    q, k, v = phi(q.double()), phi(k.double()).repeat_interleave(group, 1), v.double().repeat_interleave(group, 1)
    weights = q @ k.mT
    if causal:
        weights = weights.tril()
    return weights @ v / (weights.sum(-1, keepdim=True) + 1e-6)


PHI = {"elu+1": lambda x: torch.nn.functional.elu(x) + 1, "relu": torch.relu, "identity": lambda x: x}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("feature", [*PHI, "function"])
def test_linear_attention_has_the_gradients_of_the_formula(feature, causal, seed):
    x = tensors(n=70, m=70, d=16, e=24, seed=seed)
    if feature == "identity":
        x = [*(y.detach().abs().requires_grad_() for y in x[:2]), x[2]]
    phi = torch.exp if feature == "function" else PHI[feature]
    out = at.torch.linear_attention(*x, causal=causal, feature=phi if feature == "function" else feature)
    wanted = textbook_linear(*x, phi, causal)
    d_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(seed))
    book.agree(out, wanted, 1e-5, "out")
    for got, want in zip(torch.autograd.grad(out, x, d_out), torch.autograd.grad(wanted, x, d_out.double())):
        book.agree(got, want, 1e-4, "gradient")


@pytest.mark.parametrize("seed", range(4))
def test_gradients_match_the_weights_that_dropout_kept(seed):
    x = tensors(m=30, e=30, seed=seed)
    q, k, _ = x
    rate = 0.3
    with torch.no_grad():  # values that are the identity show the weights that were kept
        every = torch.eye(30).expand(2, 2, 30, 30)
        dropped, weights = at.torch.attention(q, k, every, dropout=rate, seed=seed, return_weights=True)
    kept = torch.where(dropped == 0, 0.0, 1 / (1 - rate)).double()
    assert 0.2 < (kept == 0).double().mean() < 0.4
    torch.testing.assert_close(dropped.double(), weights * kept, atol=1e-5, rtol=1e-5)
    out = at.torch.attention(*x, dropout=rate, seed=seed)
    wanted, _, before = book.attention(*x, kept=kept)
    book.agree(out, wanted, 1e-5, "out")
    book.agree(weights, before, 1e-5, "weights before dropout")
    for got, want in zip(torch.autograd.grad(out.sum(), x), torch.autograd.grad(wanted.sum(), x)):
        book.agree(got, want, 3e-5, "gradient")


def test_dropout_draws_its_seed_from_torch():
    x = tensors()
    torch.manual_seed(5)
    first, second = (at.torch.attention(*x, dropout=0.5) for _ in range(2))
    torch.manual_seed(5)
    again = at.torch.attention(*x, dropout=0.5)
    assert torch.equal(first, again) and not torch.equal(first, second)
    state = torch.get_rng_state()
    at.torch.attention(*x, dropout=0.5, seed=1)
    at.torch.attention(*x)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("which", range(3))
def test_only_inputs_that_require_a_gradient_get_one(which):
    x = [y.detach() for y in tensors()]
    x[which].requires_grad_()
    at.torch.attention(*x).sum().backward()
    assert [y.grad is not None for y in x] == [i == which for i in range(3)]


def test_there_is_no_graph_without_required_gradients():
    x = [y.detach() for y in tensors()]
    assert at.torch.attention(*x).grad_fn is None
    with torch.no_grad():
        assert at.torch.attention(*tensors()).grad_fn is None
    with torch.inference_mode():
        assert not at.torch.attention(*x).requires_grad


def test_attention_dispatches_to_torch_if_a_gradient_is_required():
    x = tensors()
    bias, sink = torch.randn(9, 11, requires_grad=True), torch.randn(4, requires_grad=True)
    out, lse, weights = at.attention(*x, mask="causal(3)", bias=bias, sink=sink, return_lse=True, return_weights=True)
    same = at.torch.attention(*x, mask="causal(3)", bias=bias, sink=sink, return_lse=True, return_weights=True)
    assert all(torch.equal(a, b) for a, b in zip((out, lse, weights), same))
    assert out.requires_grad and lse.requires_grad and not weights.requires_grad
    out.sum().backward()
    assert all(y.grad is not None for y in (*x, bias, sink))
    table = torch.zeros(4, 19, requires_grad=True)
    at.attention(*(y.detach() for y in x), bias=at.distance_bias(table)).sum().backward()
    assert table.grad.shape == (4, 19)
    linear = at.linear_attention(*x, feature="relu")
    assert torch.equal(linear, at.torch.linear_attention(*x, feature="relu")) and linear.requires_grad


def test_views_as_a_projection_leaves_them_are_read_and_kept_without_a_copy():
    x = torch.randn(2, 9, 3 * 32, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q, k, v = (part.unflatten(-1, (4, 8)).transpose(1, 2) for part in x.chunk(3, dim=-1))
        out = at.torch.attention(q, k, v)
    kept = {saved.untyped_storage().data_ptr() for saved in out.grad_fn.saved_tensors if saved is not None}
    assert x.untyped_storage().data_ptr() in kept and len(kept) == 3  # x, the output and lse
    (got,) = torch.autograd.grad(out.square().sum(), x)
    (want,) = torch.autograd.grad(book.attention(q, k, v)[0].square().sum(), x)
    book.agree(got, want, 3e-5, "gradient")


def test_what_is_kept_grows_with_the_length_and_not_with_its_square():
    def kept(n):
        x = tensors(b=1, h=2, g=2, n=n, m=n, d=16, e=16)
        graph = at.torch.attention(*x, mask="causal").grad_fn
        return sum(saved.untyped_storage().nbytes() for saved in graph.saved_tensors if saved is not None)

    assert kept(800) == 2 * kept(400)


def test_a_mask_that_changes_after_the_forward_pass_does_not_change_the_gradient():
    x = tensors()
    table = torch.ones(9, 11, dtype=torch.bool)
    out = at.torch.attention(*x, mask=table)
    table[:] = False
    got = torch.autograd.grad(out.sum(), x)
    assert all(torch.equal(a, b) for a, b in zip(got, torch.autograd.grad(at.torch.attention(*x).sum(), x)))


def test_tables_of_three_axes_mean_heads_also_if_there_are_as_many_sequences():
    q, k, v = tensors(b=2, h=2, g=2, n=5, m=6)
    allowed = torch.rand(2, 5, 6, generator=torch.Generator().manual_seed(4)) < 0.7
    alone = [x[0].detach().requires_grad_() for x in (q, k, v)]
    for x in (alone, [q, k, v]):
        out = at.torch.attention(*x, mask=allowed)
        wanted = book.attention(*(y if y.ndim == 4 else y[None] for y in x), allowed=allowed)[0].reshape(out.shape)
        book.agree(out, wanted, 1e-5, "out")
        for got, want in zip(torch.autograd.grad(out.sum(), x), torch.autograd.grad(wanted.sum(), x)):
            book.agree(got, want, 3e-5, "gradient")


def test_inputs_that_change_after_the_forward_pass_are_noticed():
    q, k, v = tensors()
    keys = k * 1
    out = at.torch.attention(q, keys, v)
    keys.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_second_derivatives_of_linear_attention_are_rejected_on_use():
    x = tensors()
    first = torch.autograd.grad(at.torch.linear_attention(*x).square().sum(), x, create_graph=True)
    plain = torch.autograd.grad(at.torch.linear_attention(*x).square().sum(), x)
    assert all(torch.equal(a, b) for a, b in zip(first, plain))
    for gradient in first:
        with pytest.raises(RuntimeError, match="no second derivatives"):
            gradient.sum().backward(retain_graph=True)


def test_a_query_that_sees_nothing_has_no_gradient_and_gives_none():
    x = tensors(h=2, g=2)
    mask = torch.ones(9, 11, dtype=torch.bool)
    mask[4], mask[:, 2] = False, False
    x[0].data[:, :, 4], x[1].data[:, :, 2], x[2].data[:, :, 2] = torch.nan, torch.nan, torch.nan
    out = at.torch.attention(*x, mask=mask)
    dq, dk, dv = torch.autograd.grad(out.sum(), x)
    assert (out[:, :, 4] == 0).all() and (dq[:, :, 4] == 0).all()
    assert (dk[:, :, 2] == 0).all() and (dv[:, :, 2] == 0).all()
    assert all(torch.isfinite(g).all() for g in (dq, dk, dv))


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_gradients_have_the_same_bits_by_any_number_of_threads(threads, threads_restored):
    x = tensors(b=1, h=2, g=1, n=300, m=2000, d=16, e=16)
    table = torch.zeros(2, 2299, requires_grad=True)

    def run():
        return torch.autograd.grad(at.torch.attention(*x, bias=at.distance_bias(table)).sum(), (*x, table))

    at.set_num_threads(4)
    wanted = run()
    at.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(run(), wanted))


def test_only_the_log_sum_may_be_used():
    x = tensors()
    _, lse = at.torch.attention(*x, return_lse=True)
    got = torch.autograd.grad(lse.sum(), x)
    wanted = torch.autograd.grad(book.attention(*x)[1].sum(), x[:2])
    for g, w in zip(got, wanted):
        book.agree(g, w, 1e-5, "gradient")
    assert (got[2] == 0).all()


def test_a_step_of_training_lowers_the_loss():
    q, k, v = tensors()
    target = torch.randn(2, 4, 9, 5, generator=torch.Generator().manual_seed(1))
    optimizer = torch.optim.Adam([q, k, v], lr=0.05)
    losses = []
    for _ in range(60):
        loss = (at.torch.attention(q, k, v, mask="causal(2)") - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


class TestRefused:
    def test_a_mask_that_requires_a_gradient(self):
        mask = torch.zeros(9, 11, requires_grad=True)
        for call in (at.attention, at.torch.attention):
            with pytest.raises(RuntimeError, match="mask requires a gradient, but masks have none: pass it as bias="):
                call(*tensors(), mask=mask)
        with torch.no_grad():
            assert at.attention(*tensors(), mask=mask).shape == (2, 4, 9, 5)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.complex64])
    def test_another_dtype(self, dtype):
        q, k, v = tensors()
        wrong = v.detach().to(dtype).requires_grad_(dtype is not torch.int64)
        with pytest.raises(TypeError, match=rf"v has the dtype {dtype}; .*pass v.float\(\)"):
            at.torch.attention(q, k, wrong)

    def test_another_device(self):
        q, k, v = tensors()
        for call in (at.torch.attention, at.torch.linear_attention):
            with pytest.raises(TypeError, match=r"k is on the device meta; .*pass k.cpu\(\)"):
                call(q, k.detach().to("meta").requires_grad_(), v)
        with pytest.raises(TypeError, match="bias is on the device meta"):
            at.torch.attention(q, k, v, bias=torch.zeros(9, 11, device="meta", requires_grad=True))

    def test_what_is_no_tensor(self):
        q, k, v = tensors()
        with pytest.raises(TypeError, match="k must be a torch tensor if a gradient is required, not ndarray"):
            at.torch.attention(q, k.detach().numpy(), v)
        with pytest.raises(TypeError, match="k must be a numpy array or a torch tensor, not list"):
            at.torch.attention(q.detach(), [1.0], v.detach())

    @pytest.mark.parametrize("watched", [True, False])
    def test_shapes_that_disagree(self, watched):
        q, k, v = (torch.ones(2, 3, 4, width, requires_grad=watched) for width in (8, 7, 8))
        with pytest.raises(ValueError, match="8.*7"):
            at.torch.attention(q, k, v)
        with pytest.raises(ValueError, match="axes"):
            at.torch.attention(q[0, 0, 0], q, q)
        with pytest.raises(ValueError, match="bias|sink"):
            at.torch.attention(q, q, q, sink=torch.zeros(5, requires_grad=watched))
        with pytest.raises(ValueError):
            at.torch.attention(q, q, q, mask=torch.ones(5, 5, dtype=torch.bool))

    def test_a_sparse_tensor(self):
        q = torch.ones(3, 4)
        with pytest.raises(TypeError, match="layout torch.sparse_coo"):
            at.torch.attention(q.to_sparse().requires_grad_(), q, q)

    def test_an_unknown_feature(self):
        with pytest.raises(ValueError, match="feature is 'gelu'"):
            at.torch.linear_attention(*tensors(), feature="gelu")


def test_a_last_axis_that_is_not_contiguous_is_copied_once_and_the_warning_points_here():
    q, k, v = tensors(d=8, e=8)
    odd = torch.randn(2, 2, 8, 11).mT.requires_grad_()
    with pytest.warns(UserWarning, match="k is copied: its last axis is not contiguous") as caught:
        out = at.torch.attention(q, odd, v)
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = torch.autograd.grad(out.sum(), (q, odd, v))
    wanted = torch.autograd.grad(at.torch.attention(q, odd.contiguous(), v).sum(), (q, odd, v))
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))


def test_a_lazily_negated_view_is_read_negated():
    z = torch.randn(1, 1, 4, 8, dtype=torch.complex64)
    negated, plain = z.conj().imag.requires_grad_(), z.real.contiguous()
    with pytest.warns(UserWarning, match="q is copied"):
        out = at.torch.attention(negated, plain, plain)
    assert torch.equal(out, at.attention(-z.imag, plain, plain).detach())


def test_inputs_and_output_gradients_are_not_modified():
    x = tensors()
    d_out = torch.randn(2, 4, 9, 5)
    before = [y.detach().clone() for y in (*x, d_out)]
    out = at.torch.attention(*x)
    shown = out.detach().clone()
    torch.autograd.grad(out, x, d_out)
    assert all(torch.equal(a, b) for a, b in zip(before, (*x, d_out))) and torch.equal(out, shown)


def test_masks_in_a_graph_that_outlives_python_are_not_reported():
    code = (
        "import torch, attnscope as at; q = torch.ones(1, 1, 4, 8, requires_grad=True);"
        "out = at.torch.attention(q, q, q, mask=at.causal()); out.sum().backward(retain_graph=True)"
    )
    folder = str(pathlib.Path(at.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": folder},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
