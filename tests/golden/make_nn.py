"""Writes nn.json: what torch makes of small layers, their gradients, and ten steps of AdamW.

Every number that goes in is exact in float32. Gradients are those of sum(dy * y), but for the cross-entropy, which is a
mean. torch computes in double but for AdamW, whose steps are taken in float32 and in double.

Usage: python make_nn.py > nn.json
"""

import json

import torch
import torch.nn.functional as F


def numbers(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float32)


def leaf(x: torch.Tensor) -> torch.Tensor:
    return x.double().requires_grad_()


def gradients(dy: torch.Tensor, f, **inputs: torch.Tensor) -> dict:
    """The inputs, y = f(inputs) and the gradient of every input."""
    leaves = {name: leaf(x) for name, x in inputs.items()}
    y = f(**leaves)
    (y * dy.double()).sum().backward()
    answer = {name: x.tolist() for name, x in inputs.items()}
    answer |= {"dy": dy.tolist(), "y": y.tolist()}
    return answer | {"d_" + name: x.grad.tolist() for name, x in leaves.items()}


def activations() -> dict:
    functions = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": F.silu,
        "tanh": torch.tanh,
    }
    x, up, dy = numbers(1, 3, 7) * 2, numbers(2, 3, 7), numbers(3, 3, 7)
    return {
        name: {
            "plain": gradients(dy, lambda x, f=f: f(x), x=x),
            "gate": gradients(dy, lambda gate, up, f=f: f(gate) * up, gate=x, up=up),
        }
        for name, f in functions.items()
    }


def norms() -> dict:
    x, weight, bias, dy = numbers(4, 4, 19), 1 + numbers(5, 19) / 4, numbers(6, 19) / 4, numbers(7, 4, 19)
    return {
        "layer": gradients(
            dy, lambda x, weight, bias: F.layer_norm(x, (19,), weight, bias, 1e-5), x=x, weight=weight, bias=bias
        ),
        "rms": gradients(dy, lambda x, weight: F.rms_norm(x, (19,), weight, 1e-5), x=x, weight=weight),
    }


def embedding() -> dict:
    ids = [2, 0, 5, 2, 2, 1]
    answer = gradients(numbers(8, 6, 5), lambda table: F.embedding(torch.tensor(ids), table), table=numbers(9, 7, 5))
    return answer | {"ids": ids}


def cross_entropy() -> dict:
    logits, labels = numbers(10, 6, 11) * 3, torch.tensor([3, -100, 10, 0, -100, 3])
    x = leaf(logits)
    loss = F.cross_entropy(x, labels)
    loss.backward()
    return {"logits": logits.tolist(), "labels": labels.tolist(), "loss": loss.item(), "gradient": x.grad.tolist()}


def head() -> dict:
    """The mean cross-entropy of a linear layer, and the gradients of all that goes in."""
    inputs = {"x": numbers(11, 9, 8), "w": numbers(12, 21, 8) / 2, "b": numbers(13, 21) / 2}
    labels = torch.tensor([3, -100, 20, 0, -100, 3, 7, 7, -100])
    leaves = {name: leaf(x) for name, x in inputs.items()}
    loss = F.cross_entropy(F.linear(*leaves.values()), labels)
    loss.backward()
    answer = {name: x.tolist() for name, x in inputs.items()} | {"labels": labels.tolist(), "loss": loss.item()}
    return answer | {"d_" + name: x.grad.tolist() for name, x in leaves.items()}


def adamw(decay: float, dtype: torch.dtype) -> dict:
    """Ten steps; the rate of learning changes, and gradients grow and shrink."""
    start, rates = numbers(14, 13), [1e-3 * (1 + n % 4) for n in range(10)]
    pulls = [numbers(20 + n, 13) * (0.01 if n % 3 == 0 else 1.5) for n in range(10)]
    p = torch.nn.Parameter(start.to(dtype, copy=True))
    betas = tuple(torch.tensor([0.9, 0.999]).double().tolist())  # as a float holds them
    optimiser = torch.optim.AdamW([p], betas=betas, eps=1e-8, weight_decay=decay, foreach=False)
    after = []
    for rate, pull in zip(rates, pulls, strict=True):
        optimiser.param_groups[0]["lr"] = rate
        p.grad = pull.to(dtype)
        optimiser.step()
        after.append(p.tolist())
    state = optimiser.state[p]
    return {
        "decay": decay,
        "start": start.tolist(),
        "rates": rates,
        "gradients": [pull.tolist() for pull in pulls],
        "after": after,
        "first": state["exp_avg"].tolist(),
        "second": state["exp_avg_sq"].tolist(),
    }


def clipping() -> dict:
    parts = [numbers(40, 3, 4), numbers(41, 5)]
    answer = {"gradients": [part.flatten().tolist() for part in parts], "cases": []}
    for most in (0.5, 3.0, 100.0):
        parameters = [torch.nn.Parameter(torch.zeros_like(part).double()) for part in parts]
        for p, part in zip(parameters, parts, strict=True):
            p.grad = part.double()
        norm = torch.nn.utils.clip_grad_norm_(parameters, most).item()
        answer["cases"].append({"most": most, "norm": norm, "clipped": [p.grad.flatten().tolist() for p in parameters]})
    return answer


def shortened(x):
    """Nine digits say which float it is."""
    if isinstance(x, dict):
        return {name: shortened(value) for name, value in x.items()}
    if isinstance(x, list):
        return [shortened(value) for value in x]
    return float(f"{x:.9g}") if isinstance(x, float) else x


if __name__ == "__main__":
    parts = {
        "activations": activations(),
        "norms": norms(),
        "embedding": embedding(),
        "cross_entropy": cross_entropy(),
        "head": head(),
        "adamw": [adamw(decay, dtype) for decay in (0.0, 0.1) for dtype in (torch.float32, torch.float64)],
        "clipping": clipping(),
    }
    lines = [f"{json.dumps(name)}: {json.dumps(shortened(part))}" for name, part in parts.items()]
    print("{" + ",\n".join(['"made_by": "make_nn.py"', *lines]) + "}")
