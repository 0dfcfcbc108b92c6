"""Limits, odd arrays and odd labels: `outlive.make_grid` and `outlive.Grid` at their edges."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

import outlive  # noqa: E402

IMAGES = torch.rand(9, 3, 8, 10, generator=torch.Generator().manual_seed(5))
MAPS = Path("/proc/self/maps")


def same(grid, other):
    """Whether two grids have the same values."""
    return numpy.array_equal(numpy.asarray(grid), numpy.asarray(other))


@pytest.mark.parametrize("number", [numpy.int64(4), numpy.int32(4)])
def test_whole_numbers_of_numpy_are_whole_numbers(number):
    expected = outlive.make_grid(IMAGES, nrow=4, padding=4)
    for form in (IMAGES.numpy(), iter(IMAGES), tuple(IMAGES)):
        assert same(outlive.make_grid(form, nrow=number, padding=number), expected)
    filed = outlive.make_grid(IMAGES, nrow=number, padding=4, max_bytes=1, over="file")
    assert same(filed, expected)


def test_a_stream_over_its_budget_ends_before_it_is_read(tmp_path):
    asked = []

    def stream(array):
        for index in range(1000):
            asked.append(index)
            yield array

    for array in (IMAGES[0], IMAGES[0].numpy()):
        for arguments in ({}, {"cell": (20, 20)}, {"labels": iter("abc")}):
            asked.clear()
            with pytest.raises(outlive.OverBudget) as caught:
                outlive.make_grid(stream(array), max_bytes=20_000, **arguments)
            assert len(asked) < 20
            assert 20_000 < caught.value.size < 40_000
    found = outlive.make_grid(iter(IMAGES[:1]), max_bytes=1)
    assert same(found, IMAGES[0])


def test_a_stream_for_a_file_lies_in_files_itself(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # What is gathered in memory is not moved: these images are small.
    monkeypatch.setattr("outlive._grid.stream.CHUNK", 2000)
    for images in (IMAGES, IMAGES.numpy()):
        seen = []

        def stream(images=images, seen=seen):
            for image in images:
                yield image
                seen.append(str(tmp_path) in MAPS.read_text())

        grid = outlive.make_grid(stream(), max_bytes=3000, over="file")
        assert seen[-1]
        assert same(grid, outlive.make_grid(images))
        assert MAPS.read_text().count(str(tmp_path)) == 1
        assert list(tmp_path.iterdir()) == []
        del grid


SINGLE = [
    ("grey", IMAGES[0, :1], {}),
    ("plane", IMAGES[0, 0], {}),
    ("normalized", IMAGES[0], {"normalize": True}),
    ("normalized grey", IMAGES[:1, :1], {"normalize": True, "scale_each": True}),
    ("list", [IMAGES[0]], {}),
    ("planes", [IMAGES[0, 0], IMAGES[0, 1].double()], {}),
    ("array", IMAGES[0, :1].numpy(), {}),
    ("normalized array", IMAGES[0].numpy(), {"normalize": True}),
]


@pytest.mark.parametrize(("name", "images", "arguments"), SINGLE)
def test_a_single_image_has_a_budget_if_it_is_a_new_one(
    tmp_path, monkeypatch, name, images, arguments
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    expected = outlive.make_grid(images, **arguments)
    with pytest.raises(outlive.OverBudget) as caught:
        outlive.make_grid(images, max_bytes=10, **arguments)
    assert caught.value.size == expected.nbytes
    found = outlive.make_grid(images, max_bytes=10, over="file", **arguments)
    assert f"{tmp_path}/outlive-grid-" in MAPS.read_text()
    assert type(found) is type(expected) and found.dtype == expected.dtype
    assert same(found, expected)
    assert same(outlive.make_grid(images, max_bytes=1 << 20, **arguments), expected)


def test_the_callers_own_image_needs_no_budget():
    assert outlive.make_grid(IMAGES[:1], max_bytes=1).data_ptr() == IMAGES.data_ptr()
    with pytest.raises(ValueError, match="over has to be"):
        outlive.make_grid(IMAGES[:1], over="board")


def test_a_cell_is_a_pair_of_whole_numbers(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(numpy.zeros((40, 50, 3), numpy.uint8)).save(path)
    for cell in ([16, 20], (numpy.int64(16), 20)):
        assert tuple(outlive.make_grid([path, path], cell=cell).shape) == (3, 20, 46)
    for cell in ((0, 4), (-1, 4), "smallest", "ab", 5, (16,), (1, 2, 3)):
        for images in (IMAGES, [path]):
            with pytest.raises(ValueError, match=r"[Cc]ell"):
                outlive.make_grid(images, cell=cell)
    with pytest.raises(TypeError):
        outlive.make_grid([path], cell=(16.0, 16.0))
    assert len(outlive.Grid(cell=[4, 4]).add(IMAGES)) == 9


def test_arrays_that_pytorch_cannot_take_over_are_read_right():
    expected = outlive.make_grid(IMAGES[:2])
    array = IMAGES[0].numpy()
    record = numpy.zeros(array.shape, [("value", "f4"), ("odd", "u1")])
    record["value"] = array
    for form in (array[::-1].copy()[::-1], array.astype(">f4"), record["value"]):
        assert same(outlive.make_grid([form, IMAGES[1]]), expected)
        assert same(outlive.make_grid(iter([IMAGES[0], form])), outlive.make_grid(IMAGES[[0, 0]]))
    for form in (array.astype("U5"), array.astype(object)):
        with pytest.raises(TypeError):
            outlive.make_grid([form, form])
        with pytest.raises(TypeError):
            outlive.make_grid([form, IMAGES[0]])


def test_no_warning_is_silenced_for_other_threads(monkeypatch):
    fixed = IMAGES[0].numpy().copy()
    fixed.flags.writeable = False
    picture = Image.fromarray(numpy.arange(48, dtype=numpy.uint8).reshape(4, 4, 3))
    expected = numpy.asarray(picture).transpose(2, 0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with monkeypatch.context() as patched:
            patched.setattr(warnings, "catch_warnings", None)
            assert same(outlive.make_grid([fixed, IMAGES[1]]), outlive.make_grid(IMAGES[:2]))
            assert same(outlive.make_grid(picture), expected)


def test_a_deep_picture_has_the_same_bytes_as_its_file(tmp_path):
    values = numpy.arange(1 << 16, dtype=numpy.uint16).reshape(256, 256)
    Image.fromarray(values).save(tmp_path / "deep.png")
    with Image.open(tmp_path / "deep.png") as picture:
        assert picture.mode == "I;16"
        assert same(outlive.make_grid(picture), outlive.make_grid(tmp_path / "deep.png"))


def test_images_without_pixels_are_a_value_error():
    for shape in ((3, 0, 4), (0, 4, 4), (0, 4), (2, 3, 0, 4)):
        for image in (torch.zeros(shape), numpy.zeros(shape)):
            for arguments in ({}, {"normalize": True}):
                for form in (image, [image]):
                    with pytest.raises(ValueError, match="without pixels"):
                        outlive.Grid().add(form, **arguments)
    for image in (torch.zeros(3, 0, 4), numpy.zeros((3, 0, 4)), Image.new("RGB", (0, 5))):
        with pytest.raises(ValueError, match=r"\(3, \d, \d\)"):
            outlive.make_grid(iter([image, image]))
    for empty in (torch.zeros(0, 3, 4, 4), numpy.zeros((0, 3, 4, 4))):
        grid = outlive.Grid().add(empty, normalize=True).add([empty, IMAGES], normalize=True)
        assert len(grid) == 9


def page_of(grid, tmp_path, **arguments):
    """All that a page says."""
    grid.save(tmp_path / "page", **arguments)
    return b"".join(path.read_bytes() for path in (tmp_path / "page").rglob("*.js"))


def test_labels_of_a_growing_grid_are_those_of_make_grid(tmp_path):
    grid = outlive.Grid()
    grid.add(IMAGES[:2], labels=torch.tensor([31, 47])).add(IMAGES[:1], labels=["\udcff.png"])
    grid.add(IMAGES[:2], labels=numpy.array(["cat", "dog"]))
    page = page_of(grid, tmp_path, title="\udcff")
    assert b"tensor" not in page
    for wrong in ({"a": 1}, {"a"}, b"a", 3):
        with pytest.raises(TypeError, match="labels has to be"):
            grid.add(IMAGES[:1], labels=wrong)
    assert len(grid) == 5


def test_a_saved_grid_keeps_links_and_permissions(tmp_path):
    grid = outlive.Grid().add(IMAGES)
    (tmp_path / "target.png").write_bytes(b"old")
    os.chmod(tmp_path / "target.png", 0o640)
    (tmp_path / "link.png").symlink_to("target.png")
    grid.save(tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert oct((tmp_path / "target.png").stat().st_mode)[-3:] == "640"
    with Image.open(tmp_path / "target.png") as found:
        assert found.format == "PNG"


WITHOUT_MEMORY = """
import resource, sys
import numpy
import outlive
image = numpy.zeros((3, 20_000, 9_000), numpy.uint8)
outlive.Grid(cell=(8, 8)).add(image[:, :16, :16])
held = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (held + (700 << 20), resource.RLIM_INFINITY))
for cell, given in (((60_000, 60_000), image[:, :9, :9]), (None, image), (((1 << 32) - 1,) * 2, 0)):
    grid = outlive.Grid(cell=cell)
    try:
        grid.add(image[:, :9, :9] if given is 0 else given)
    except MemoryError:
        assert len(grid) == 0
    else:
        sys.exit(f"{cell} fits")
"""


def test_a_cell_without_memory_is_a_memory_error():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_MEMORY], stderr=subprocess.PIPE
    )
    assert ended.returncode == 0, ended.stderr.decode()
