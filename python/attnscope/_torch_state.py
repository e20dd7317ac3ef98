"""What torch is doing around a call: transforms, modes and autocast."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

_NO_DISPATCH = torch.Tensor.__torch_dispatch__
_modes = torch._C._len_torch_dispatch_stack
_are_transforms_active = torch._C._are_functorch_transforms_active
_is_any_autocast_enabled = torch._C._is_any_autocast_enabled


def is_quiet() -> bool:
    """Tells quickly that there is no mode, no transform, no autocast and no forward-mode derivative."""
    return not (_modes() or _are_transforms_active() or _is_any_autocast_enabled() or forward_ad._current_level >= 0)


def is_dispatched(*tensors) -> bool:
    """Tells whether something wants to see operators: a mode, such as FlopCounterMode, or a tensor such as a FakeTensor."""
    if _modes() > 0:
        return True
    for x in tensors:
        if type(x) is not torch.Tensor and getattr(type(x), "__torch_dispatch__", _NO_DISPATCH) is not _NO_DISPATCH:
            return True
    return False


def is_transformed(*tensors) -> bool:
    """Tells whether a transform of torch.func is active, or a tensor has a forward-mode derivative."""
    if _are_transforms_active():
        return True
    if forward_ad._current_level < 0:
        return False
    return any(isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None for x in tensors)


def in_autocast_dtype(*tensors):
    """Casts tensors as torch.autocast does for scaled_dot_product_attention(); float64 stays."""
    if not torch.is_autocast_enabled("cpu"):
        return tensors
    dtype = torch.get_autocast_dtype("cpu")
    return tuple(
        x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype is not torch.float64 else x
        for x in tensors
    )


def for_every_key(bias, k):
    """Repeats a bias [..., 1] for every key."""
    if not isinstance(bias, torch.Tensor) or bias.ndim == 0 or bias.shape[-1] != 1 or k.shape[-2] == 1:
        return bias
    return bias.expand(*bias.shape[:-1], k.shape[-2]).contiguous()
