"""Random calls of `make_grid`: images and arguments, good and bad, to compare with torchvision."""

import random

import torch

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
WHOLE = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool]
RARE = [torch.uint16, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint32]
BAD_RANGES = [[0, 1], 1, (0.5,), (), ("a", "b"), (None, 1.0), (True, False), (1, 0), (0.3, 0.3)]
BAD_RANGES += [(float("nan"), 1.0), (1e10, 1e30), (-1e300, 1e300), (2, 1, 0), (1j, 2)]
GOOD_RANGES = [(0, 1), (-1.0, 1.0), (0.2, 0.7), (-3, 5), (float("-inf"), float("inf"))]


class Subclass(torch.Tensor):
    """A tensor that knows its class."""


def values(dice, shape, dtype):
    """Random values, with the special ones in one tensor out of three."""
    if dtype is torch.bool:
        return torch.rand(shape) > 0.5
    if dtype.is_complex:
        return torch.complex(torch.randn(shape), torch.randn(shape))
    if not dtype.is_floating_point:
        return torch.randint(0, 100, shape).to(dtype)
    found = torch.randn(shape, dtype=torch.float64) * dice.choice([1, 1, 100, 1e-3])
    if dice.random() < 0.35 and found.numel():
        special = dice.choice([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e-45])
        found.view(-1)[dice.randrange(found.numel())] = special
    if dice.random() < 0.2:
        found = found.abs() * (torch.rand(shape) > 0.5)
        found *= torch.where(torch.rand(shape) > 0.5, 1.0, -1.0) ** (found == 0)
    if dice.random() < 0.1:
        found = torch.full(shape, 0.25, dtype=torch.float64)
    return found.to(dtype)


def laid_out(dice, tensor):
    """The same values with other strides."""
    kind = dice.randrange(9)
    if kind == 0 and tensor.dim() == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if kind == 1 and tensor.dim() >= 2:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if kind == 2 and tensor.dim() >= 1 and tensor.dtype not in RARE:
        return torch.stack([tensor, tensor], -1)[..., 0]
    if kind == 3 and tensor.dim() == 4 and tensor.size(0) > 1:
        return tensor[:1].expand(tensor.shape)
    if kind == 4 and tensor.dim() >= 1 and tensor.size(0) > 2:
        return tensor[1:]
    if kind == 5 and tensor.dim() == 4:
        return tensor.permute(1, 0, 2, 3).contiguous().permute(1, 0, 2, 3)
    return tensor


def tensor(dice, shape, dtype=None):
    """A tensor of this shape."""
    chosen = dtype or dice.choice(FLOATS * 4 + WHOLE + RARE)
    found = laid_out(dice, values(dice, shape, chosen))
    kind = dice.random()
    if kind < 0.03 and found.is_floating_point():
        found.requires_grad_()
    elif kind < 0.06:
        found = found.as_subclass(Subclass)
    elif kind < 0.08:
        found = found.to("meta")
    return found


def shape(dice):
    """Mostly a batch of images; sometimes something else."""
    batch = [
        dice.choice([1, 1, 2, 3, 4, 5, 8, 9, 17, 0]),
        dice.choice([1, 1, 3, 3, 3, 2, 4, 5, 0]),
        dice.choice([1, 2, 5, 8, 13, 33, 0]),
        dice.choice([1, 3, 4, 7, 16, 35, 0]),
    ]
    while 0 in batch and dice.random() < 0.8:
        batch = [size or dice.choice([1, 2, 3, 6]) for size in batch]
    count = dice.choice([4] * 14 + [3, 3, 3, 2, 2, 1, 0, 5])
    return tuple(batch[-count:]) if count < 5 else (2, *batch)


def images(dice):
    """A tensor, a list of tensors, or something that is no image."""
    kind = dice.random()
    if kind < 0.6:
        return tensor(dice, shape(dice))
    if kind < 0.97:
        return image_list(dice)
    return dice.choice([None, 3, b"text", {}, [None], [torch.rand(3, 2, 2), 5], object()])


def image_list(dice):
    """Lists of images: mostly alike, sometimes of several dtypes or sizes."""
    count = dice.choice([0, 1, 1, 2, 3, 4, 5, 9, 12])
    size = shape(dice)[-3:] if dice.random() < 0.9 else shape(dice)
    pool = dice.choice([FLOATS[:1], FLOATS, FLOATS + WHOLE, FLOATS + WHOLE + RARE])
    alike = dice.choice(pool) if dice.random() < 0.6 else None
    found = [tensor(dice, size, alike or dice.choice(pool)) for _ in range(count)]
    if found and dice.random() < 0.06:
        found[-1] = tensor(dice, shape(dice))
    return found


def arguments(dice):
    """Keyword arguments, one in ten of them of a kind that makes no sense."""
    found = {}
    if dice.random() < 0.5:
        found["nrow"] = dice.choice([1, 2, 3, 4, 5, 8, 100, 1, 2, 3, 0, -1, 2.0, "3", None, True])
    if dice.random() < 0.5:
        found["padding"] = dice.choice([0, 1, 2, 3, 5, 0, 1, 2, 3, -1, -2, 1.0, "1", None, True])
    if dice.random() < 0.55:
        found["normalize"] = dice.choice([True, True, True, True, False, 1, None, "yes"])
    if dice.random() < 0.35:
        tensors = [(torch.tensor(0.1), torch.tensor(0.9)), (torch.rand(3), torch.rand(3))]
        found["value_range"] = dice.choice(GOOD_RANGES * 3 + BAD_RANGES + tensors + [None])
    if dice.random() < 0.3:
        found["scale_each"] = dice.choice([True, True, True, False, 1])
    if dice.random() < 0.4:
        odd = [300, -256, 2.9, -1, float("nan"), float("inf"), 1e40, "x", None, 1j, True]
        odd += [torch.tensor(0.3), torch.rand(3), 1 << 70]
        found["pad_value"] = dice.choice([0, 1, 0.5, 7.0, -0.0, 0.1] * 3 + odd)
    return found


def call(seed):
    """The images and the arguments of one call."""
    dice = random.Random(seed)
    torch.manual_seed(seed)
    return images(dice), arguments(dice)
