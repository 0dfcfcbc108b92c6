"""`outlive.make_grid` gives torchvision's bits for what that takes, and its errors otherwise."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import warnings  # noqa: E402

from torchvision.utils import make_grid as expected  # noqa: E402

import outlive  # noqa: E402
from outlive._grid import tensors  # noqa: E402
from support import grid_calls  # noqa: E402

CALLS = 4000
SHARES = 6


def outcome(function, images, arguments):
    """What became of a call: a tensor, or the class of an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(images, **arguments)
        except Exception as error:
            return type(error)


def bits(tensor):
    """The bytes of a tensor; all values that are no number are one."""
    plain = tensor.detach().as_subclass(torch.Tensor).contiguous()
    if plain.is_floating_point() and plain.element_size() > 1:
        plain = torch.where(plain.isnan(), torch.full_like(plain, float("nan")), plain)
    return plain.reshape(-1).view(torch.uint8)


def difference(ours, theirs):
    """What differs between two outcomes, or `None`."""
    if isinstance(theirs, type) or isinstance(ours, type):
        return None if ours is theirs else f"{_named(ours)} instead of {_named(theirs)}"
    for fact in ("shape", "dtype", "device", "requires_grad", "layout"):
        if getattr(ours, fact) != getattr(theirs, fact):
            return f"{fact}: {getattr(ours, fact)} instead of {getattr(theirs, fact)}"
    if type(ours) is not type(theirs) or ours.stride() != theirs.stride():
        return f"{type(ours)}, {ours.stride()} instead of {type(theirs)}, {theirs.stride()}"
    if ours.is_meta or torch.equal(bits(ours), bits(theirs)):
        return None
    return "other values"


def _named(result):
    return result.__name__ if isinstance(result, type) else "a tensor"


@pytest.mark.parametrize("share", range(SHARES))
def test_any_call_gives_the_same_bits_or_the_same_error(share):
    found = []
    for seed in range(share, CALLS, SHARES):
        images, arguments = grid_calls.call(seed)
        theirs = outcome(expected, images, arguments)
        ours = outcome(outlive.make_grid, images, arguments)
        differs = difference(ours, theirs)
        if differs:
            found.append((seed, differs, arguments))
    assert not found, (len(found), found[:5])


@pytest.mark.parametrize("share", range(SHARES))
def test_drawn_at_once_as_on_a_gpu_it_gives_the_same_bits(share, monkeypatch):
    drawn = []
    at_once = tensors.at_once.draw
    monkeypatch.setattr(tensors, "_is_drawn_at_once", lambda *_: True)
    monkeypatch.setattr(tensors.at_once, "draw", lambda *call: drawn.append(1) or at_once(*call))
    found = []
    for seed in range(share, CALLS, SHARES):
        images, arguments = grid_calls.call(seed)
        theirs = outcome(expected, images, arguments)
        differs = difference(outcome(outlive.make_grid, images, arguments), theirs)
        if differs:
            found.append((seed, differs, arguments))
    assert not found, (len(found), found[:5])
    # Most calls are errors, single images or nothing that can be drawn in place.
    assert len(drawn) > CALLS / SHARES / 8


LARGE = [
    ("batch", (3, 3, 200, 300)),
    ("grey", (3, 1, 400, 500)),
    ("many small", (300, 3, 9, 11)),
    ("wide", (2, 4, 3, 30_000)),
]
SCALINGS = [
    {},
    {"normalize": True},
    {"normalize": True, "scale_each": True},
    {"normalize": True, "value_range": (-0.5, 0.8), "padding": 0, "nrow": 3},
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("name", "shape"), LARGE)
def test_images_larger_than_a_block_are_scaled_alike(name, shape, dtype, threads):
    images = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    forms = [images, images.contiguous(memory_format=torch.channels_last), list(images)]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for form in forms:
            for arguments in SCALINGS:
                theirs, ours = expected(form, **arguments), outlive.make_grid(form, **arguments)
                assert difference(ours, theirs) is None, arguments
    finally:
        torch.set_num_threads(before)


def test_both_zeros_keep_the_sign_that_torchvision_gives_them():
    for seed in range(15):
        torch.manual_seed(seed)
        images = (torch.rand(4, 1, 37, 41) > 0.5).float() * torch.tensor([1.0, -0.0, 0.0])[seed % 3]
        images = torch.where(torch.rand_like(images) > 0.5, images, -images * 0)
        for form in (images, list(images), images.expand(4, 3, 37, 41)):
            theirs, ours = expected(form, normalize=True), outlive.make_grid(form, normalize=True)
            assert difference(ours, theirs) is None, seed


def test_a_single_image_is_the_callers_own():
    image = torch.rand(3, 5, 5)
    for form in (image, image[None], image[0:3]):
        assert outlive.make_grid(form).data_ptr() == image.data_ptr()
    assert outlive.make_grid(image, normalize=True).data_ptr() != image.data_ptr()


def test_the_images_stay_as_they_are():
    images = torch.randn(4, 3, 8, 8)
    kept = images.clone()
    outlive.make_grid(images, normalize=True)
    outlive.make_grid(list(images), normalize=True, scale_each=True)
    outlive.make_grid(images[:1], normalize=True)
    assert torch.equal(images, kept)


def test_classes_of_tensors_are_kept_as_torchvision_keeps_them():
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    pictures = tv_tensors.Image(torch.rand(4, 3, 5, 5))
    for form in (
        pictures,
        pictures[:1],
        list(pictures),
        torch.nn.Parameter(torch.rand(3, 3, 4, 4)),
    ):
        for arguments in ({}, {"normalize": True}):
            theirs, ours = expected(form, **arguments), outlive.make_grid(form, **arguments)
            assert difference(ours, theirs) is None


def test_arguments_that_torchvision_does_not_have_are_refused():
    with pytest.raises(TypeError, match="range"):
        outlive.make_grid(torch.rand(2, 3, 4, 4), range=(0, 1))
    with pytest.raises(ValueError, match="over"):
        outlive.make_grid(torch.rand(2, 3, 4, 4), over="board")


def test_sparse_and_quantized_tensors_end_as_with_torchvision():
    sparse = torch.rand(3, 3, 4, 4).to_sparse()
    for form in (sparse, [torch.rand(3, 4, 4).to_sparse()] * 2):
        for arguments in ({}, {"normalize": True}):
            theirs = outcome(expected, form, arguments)
            assert outcome(outlive.make_grid, form, arguments) is theirs
