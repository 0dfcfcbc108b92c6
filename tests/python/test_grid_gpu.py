"""Grids of tensors on a GPU: torchvision's bits, and no memory but the result's."""

import random

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
if not torch.cuda.is_available():
    pytest.skip("no GPU", allow_module_level=True)

import outlive  # noqa: E402

MIB = 1 << 20


def outcome(function, images, arguments):
    """The grid, or the kind of error."""
    try:
        return function(images, **arguments)
    except Exception as error:
        return type(error)


def call(seed):
    """Images on the GPU and arguments, of any kind that is likely."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    dtype = draw.choice([torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.uint8])
    channels, height, width = draw.choice([1, 2, 3, 4]), draw.randint(1, 40), draw.randint(1, 40)
    count = draw.randint(1, 20)
    batch = (torch.rand(count, channels, height, width, device="cuda") * 3 - 1).to(dtype)
    layout = draw.choice(["plain", "channels last", "turned", "list", "list of views"])
    images = {
        "plain": lambda: batch,
        "channels last": lambda: batch.to(memory_format=torch.channels_last),
        "turned": lambda: batch.transpose(2, 3),
        "list": lambda: [image.clone() for image in batch],
        "list of views": lambda: list(batch),
    }[layout]()
    arguments = {
        "nrow": draw.randint(1, 9),
        "padding": draw.randint(0, 4),
        "pad_value": draw.choice([0, 0.5, 1, -1]),
        "normalize": draw.random() < 0.5,
        "scale_each": draw.random() < 0.5,
        "value_range": draw.choice([None, None, (0, 1), (-1.0, 0.5)]),
    }
    return images, arguments


def test_thousands_of_calls_are_torchvisions():
    for seed in range(3000):
        images, arguments = call(seed)
        wanted = outcome(torchvision.utils.make_grid, images, arguments)
        got = outcome(outlive.make_grid, images, arguments)
        if isinstance(wanted, type):
            assert got is wanted, (seed, arguments)
            continue
        assert (got.dtype, got.device, got.shape) == (wanted.dtype, wanted.device, wanted.shape)
        assert torch.equal(got, wanted), (seed, arguments)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("form", ["batch", "list"])
def test_the_peak_is_the_result(form, channels, normalize):
    batch = torch.rand(256, channels, 256, 256, device="cuda")
    images = batch if form == "batch" else [image.clone() for image in batch]
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    grid = outlive.make_grid(images, nrow=16, normalize=normalize)
    torch.cuda.synchronize()
    extra = torch.cuda.max_memory_allocated() - before
    print(f"{form} of {channels}, normalize={normalize}: {extra / grid.nbytes:.4f}")
    assert extra <= 1.02 * grid.nbytes + 2 * MIB


def test_a_saved_grid_is_torchvisions(tmp_path):
    from PIL import Image

    images = torch.rand(20, 3, 32, 48, device="cuda")
    torchvision.utils.save_image(images, tmp_path / "theirs.png", normalize=True)
    outlive.save_image(images, tmp_path / "ours.png", normalize=True)
    theirs, ours = (Image.open(tmp_path / f"{name}.png") for name in ("theirs", "ours"))
    assert (ours.mode, ours.size) == (theirs.mode, theirs.size)
    assert ours.tobytes() == theirs.tobytes()
