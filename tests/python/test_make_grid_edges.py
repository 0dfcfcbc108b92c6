"""`outlive.make_grid` beside torchvision's where PyTorch or the arguments are in an odd state."""

import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
pytest.importorskip("torchvision")

from torchvision.utils import make_grid as expected  # noqa: E402
from torchvision.utils import save_image as expected_save  # noqa: E402

import outlive  # noqa: E402

IMAGES = torch.rand(5, 3, 8, 10, generator=torch.Generator().manual_seed(5))


def outcome(function, *positional, **named):
    """A tensor with the warnings on the way to it, or the class of an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*positional, **named)
        except Exception as error:
            found = type(error)
    return found, sorted(str(warning.message) for warning in caught)


def check(images, **arguments):
    """Compares both outcomes."""
    theirs, ours = (outcome(make, images, **arguments) for make in (expected, outlive.make_grid))
    assert ours[1] == theirs[1], arguments
    if isinstance(theirs[0], type) or isinstance(ours[0], type):
        assert ours[0] is theirs[0], arguments
    else:
        assert ours[0].dtype is theirs[0].dtype
        assert ours[0].requires_grad == theirs[0].requires_grad
        assert torch.equal(ours[0], theirs[0]), arguments


NUMBERS = [numpy.int64(3), numpy.int64(0), numpy.int64(-1), numpy.int32(2), numpy.uint8(2)]
NUMBERS += [numpy.int8(3), numpy.bool_(True), numpy.float64(2), torch.tensor(3), torch.tensor(2.0)]
NUMBERS += [2.0, 9.0, -3, 1 << 70, True]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("padding", [2, 0, -5, numpy.int64(1), torch.tensor(1), numpy.uint8(250)])
def test_columns_and_padding_of_any_type_lay_a_grid_out_alike(number, padding):
    check(IMAGES, nrow=number, padding=padding)
    check(list(torch.rand(17, 4, 64, 3)), nrow=number, padding=padding)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("wide", [torch.bfloat16, torch.float16])
def test_autocast_changes_what_it_changes_for_torchvision(dtype, wide):
    images = IMAGES.to(dtype)
    mixed = [images[0], IMAGES[1], images[2]]
    for arguments in ({}, {"normalize": True}, {"normalize": True, "scale_each": True}):
        for form in (images, images[:, :1], list(images), mixed, images[:1], images[0, 0]):
            with torch.autocast("cpu", dtype=wide):
                check(form, **arguments)
                outcome(outlive.make_grid, form, pad_value=(1, 0, 0), **arguments)
    with torch.autocast("cpu", dtype=wide):
        coloured = outlive.make_grid(images, pad_value=(1, 0, 0), normalize=True)
    assert coloured.dtype is dtype and coloured[:, 0, 0].tolist() == [1, 0, 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("arguments", [{"scale_each": True}, {"scale_each": False}])
def test_transformations_of_functions_are_followed(arguments):
    arguments = {"normalize": True, "value_range": (0.2, 0.8), **arguments}

    def grid(make):
        return lambda images: make(images, **arguments)

    batches = torch.rand(2, 4, 3, 8, 8)
    together = [torch.vmap(grid(make))(batches) for make in (outlive.make_grid, expected)]
    assert torch.equal(*together)
    tangents = [
        torch.func.jvp(grid(make), (IMAGES,), (IMAGES,)) for make in (outlive.make_grid, expected)
    ]
    assert all(map(torch.equal, *tangents))
    del arguments["value_range"]
    tangents = [
        torch.func.jvp(grid(make), (IMAGES,), (IMAGES,)) for make in (outlive.make_grid, expected)
    ]
    assert all(map(torch.equal, *tangents))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(IMAGES, IMAGES)
        found = [
            torch.autograd.forward_ad.unpack_dual(grid(make)(dual))
            for make in (outlive.make_grid, expected)
        ]
    assert all(map(torch.equal, *found))


def test_values_that_are_negated_when_they_are_read_are_scaled():
    images = torch.randint(0, 2, (5, 3, 8, 10)).float()
    for negated in (torch._neg_view(images), torch.complex(images, images).conj().imag):
        assert negated.is_neg()
        for form in (negated, negated.neg(), list(negated), negated[:1], negated[:, :1]):
            for arguments in ({}, {"normalize": True}, {"normalize": True, "scale_each": True}):
                check(form, **arguments)


@pytest.mark.filterwarnings("ignore")
def test_nested_tensors_end_as_with_torchvision():
    nested = torch.nested.nested_tensor([torch.rand(3, 4), torch.rand(3, 5)])
    for form in (nested, [nested], [nested] * 3, [nested, IMAGES[0]]):
        for arguments in ({}, {"normalize": True}):
            check(form, **arguments)


@pytest.mark.filterwarnings("ignore")
def test_other_layouts_are_not_taken_apart():
    jagged = torch.nested.nested_tensor(list(IMAGES), layout=torch.jagged)
    for form in (IMAGES.to_mkldnn(), IMAGES.to_sparse(), IMAGES[:1].to_sparse(), jagged):
        for bounds in (None, (0, 1), (1 << 70, 1 << 71)):
            check(form, normalize=True, value_range=bounds)
            check(form, normalize=True, value_range=bounds, scale_each=True)


def test_bounds_beyond_the_dtype_are_refused_before_the_padding():
    for pad in ("x", 1 << 300, 0):
        for images in (IMAGES.half(), list(IMAGES.half()), IMAGES[:1].half()):
            for bounds in ((-1e300, 1e300), (0, 1)):
                check(images, normalize=True, value_range=bounds, pad_value=pad)


def test_a_file_stays_as_it_is_if_there_is_no_picture(tmp_path: Path):
    path = tmp_path / "kept.png"
    path.write_bytes(b"kept")
    for images in (IMAGES.to("meta"), IMAGES[0].to("meta")):
        for save in (expected_save, outlive.save_image):
            with pytest.raises(NotImplementedError):
                save(images, path)
            assert path.read_bytes() == b"kept"
