"""What `outlive.make_grid` takes beyond torchvision, and `outlive.Grid`."""

import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

import outlive  # noqa: E402
from support.paths import SCRIPTS  # noqa: E402

IMAGES = torch.rand(9, 3, 8, 10, generator=torch.Generator().manual_seed(5))


MAPS = Path("/proc/self/maps")


def opened(path):
    """A picture, read, with its file closed."""
    with Image.open(path) as image:
        image.load()
        return image


def same(grid, other):
    """Whether two grids have the same bits, whoever made them."""
    grid, other = numpy.asarray(grid), numpy.asarray(other)
    return grid.dtype == other.dtype and grid.tobytes() == other.tobytes()


@pytest.mark.parametrize("arguments", [{}, {"normalize": True}, {"pad_value": 0.5, "padding": 0}])
def test_tuples_and_iterators_are_as_good_as_lists(arguments):
    expected = outlive.make_grid(list(IMAGES), nrow=4, **arguments)
    for form in (tuple(IMAGES), iter(IMAGES), map(torch.clone, IMAGES)):
        found = outlive.make_grid(form, nrow=4, **arguments)
        assert isinstance(found, torch.Tensor)
        assert same(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"normalize": True},
        {"normalize": True, "scale_each": True},
        {"normalize": True, "value_range": (0.2, 0.7)},
        {"normalize": True, "value_range": (1, 0)},
        {"pad_value": 0.3, "nrow": 3, "padding": 1},
    ],
)
def test_arrays_follow_the_arithmetic_of_tensors(dtype, arguments):
    torch.manual_seed(1)
    for channels in (1, 3, 4):
        images = (torch.randn(7, channels, 9, 5) * 3).to(dtype)
        for form in (images, images[:1], images[0], images[0, 0]):
            found = outlive.make_grid(form.numpy(), **arguments)
            assert isinstance(found, numpy.ndarray)
            assert same(found, outlive.make_grid(form, **arguments))
        found = outlive.make_grid(list(images.numpy()), **arguments)
        assert same(found, outlive.make_grid(images, **arguments))


def test_arrays_that_do_not_lie_in_order_are_read_right():
    array = IMAGES.numpy()
    expected = outlive.make_grid(array)
    assert same(outlive.make_grid(array[::-1].copy()[::-1]), expected)
    assert same(outlive.make_grid(numpy.asfortranarray(array)), expected)
    fixed = array.copy()
    fixed.flags.writeable = False
    assert same(outlive.make_grid([fixed[0], IMAGES[1]]), outlive.make_grid(IMAGES[:2]))


def test_whole_numbers_of_arrays_are_not_normalized():
    with pytest.raises(TypeError, match="floating-point"):
        outlive.make_grid(numpy.zeros((2, 3, 4, 4), numpy.uint8), normalize=True)


@pytest.mark.parametrize("library", ["jax", "tensorflow"])
def test_arrays_of_other_libraries_become_tensors(library):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    # In a process of its own: who has imported JAX must not fork any more.
    command = [sys.executable, str(SCRIPTS / "grid_of_library.py"), library]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == b"same\n"


def test_a_padding_can_have_a_colour():
    for images in (IMAGES, IMAGES.numpy()):
        grid = outlive.make_grid(images, pad_value=(1, 0, 0.5))
        assert grid[:, 0, 0].tolist() == grid[:, -1, -1].tolist() == [1, 0, 0.5]
        with pytest.raises(ValueError, match="2 values for 3 channels"):
            outlive.make_grid(images, pad_value=(1, 0))


def test_images_of_several_sizes_lie_in_the_middle_of_their_cells():
    sizes = [torch.full((3, 4, 4), 1.0), torch.full((1, 8, 6), 2.0)]
    for images in (sizes, [size.numpy() for size in sizes], iter(sizes)):
        grid = outlive.make_grid(images, cell="largest", padding=1, pad_value=9)
        assert tuple(grid.shape) == (3, 10, 15)
        assert (grid[:, 1:3, 1:7] == 9).all()
        assert (grid[:, 3:7, 2:6] == 1).all()
        assert (grid[:, 1:9, 8:14] == 2).all()
    with pytest.raises(RuntimeError):
        outlive.make_grid(sizes)
    with pytest.raises(ValueError, match='hint: cell="largest"'):
        outlive.make_grid(iter(sizes))
    with pytest.raises(ValueError, match="larger than its cell"):
        outlive.make_grid(sizes, cell=(5, 5))
    assert tuple(outlive.make_grid([sizes[0]], cell=(6, 6)).shape) == (3, 10, 10)


@pytest.fixture
def files(tmp_path):
    """Five pictures of different widths."""
    random = numpy.random.default_rng(1)
    found = []
    for index in range(5):
        found.append(tmp_path / f"{index}.png")
        pixels = random.integers(0, 255, (20, 30 + index, 3), numpy.uint8)
        Image.fromarray(pixels).save(found[-1])
    return found


def test_files_and_pillow_images_are_bytes(files):
    pixels = numpy.asarray(opened(files[0])).transpose(2, 0, 1)
    assert same(outlive.make_grid(files[0]), pixels)
    assert same(outlive.make_grid(str(files[0])), pixels)
    assert same(outlive.make_grid(opened(files[0])), pixels)
    assert tuple(outlive.make_grid(files, cell=(16, 16)).shape) == (3, 20, 92)
    pictures = [opened(file) for file in files]
    assert same(
        outlive.make_grid(pictures, cell="largest"), outlive.make_grid(files, cell="largest")
    )
    assert outlive.make_grid(pictures, cell=(8, 8)).dtype is torch.uint8


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"text\.png"):
        outlive.make_grid([tmp_path / "text.png"])
    with pytest.raises(FileNotFoundError, match=r"missing\.png"):
        outlive.make_grid([tmp_path / "missing.png"])


@pytest.mark.parametrize("images", [{}, set(), b"bytes", 3, object(), [object()], iter([3])])
def test_what_is_no_image_is_a_type_error(images):
    with pytest.raises(TypeError):
        outlive.make_grid(images)


def test_nothing_makes_no_grid():
    with pytest.raises(ValueError, match="no image"):
        outlive.make_grid(iter([]))
    with pytest.raises(ValueError, match="shape"):
        outlive.make_grid(iter([torch.rand(4, 4)]))


def test_a_grid_over_its_budget_is_refused_or_lies_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for images in (IMAGES, IMAGES.numpy(), iter(IMAGES)):
        if images is IMAGES:
            with pytest.raises(outlive.OverBudget, match="over the budget of 1.0 KiB") as caught:
                outlive.make_grid(images, nrow=4, max_bytes=1024)
            assert isinstance(caught.value, (outlive.OutliveError, MemoryError))
            assert (caught.value.size, caught.value.budget) == (3 * 32 * 50 * 4, 1024)
        grid = outlive.make_grid(images, nrow=4, max_bytes=1024, over="file")
        assert same(grid, outlive.make_grid(IMAGES, nrow=4))
        assert list(tmp_path.iterdir()) == []
        mapped = MAPS.read_text()
        assert f"{tmp_path}/outlive-grid-" in mapped
        del grid
    assert f"{tmp_path}/outlive-grid-" not in MAPS.read_text()


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else found(name, *rest)
import numpy, outlive
images = numpy.arange(2 * 3 * 4 * 4, dtype=numpy.float32).reshape(2, 3, 4, 4)
grid = outlive.make_grid(images, normalize=True)
assert grid.max() == 1, grid.max()
assert outlive.make_grid(iter(images)).shape == (3, 8, 14)
outlive.save_image(images, sys.argv[1])
assert outlive.make_grid(sys.argv[1]).shape == (3, 8, 14)
assert len(outlive.Grid().add(images)) == 2
assert outlive.make_grid(images, labels=["a", "b"]).shape == (3, 20, 14)
"""


def test_torch_is_not_needed(tmp_path):
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, tmp_path / "a.png"], check=True)


def test_the_functions_load_no_library():
    script = (
        "import sys, outlive; outlive.make_grid, outlive.save_image, outlive.Grid\n"
        "assert not {'torch', 'numpy', 'PIL'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


LABELS = ["cat", None, "dog", "", "Ég", "Яя αβ", "漢", "a long " * 30 + "one", 7]


def strips(grid, rows, columns, height, width, padding=2):
    """Picture areas and strips of a grid with labels, and all pixels that are neither."""
    grid = numpy.asarray(grid)
    strip = min(24, max(12, height // 10))
    pitch_y, pitch_x = height + strip + padding, width + padding
    assert grid.shape[1:] == (rows * pitch_y + padding, columns * pitch_x + padding)
    pictures, texts, rest = [], [], numpy.ones(grid.shape[1:], bool)
    for row in range(rows):
        for column in range(columns):
            top, left = padding + row * pitch_y, padding + column * pitch_x
            across = slice(left, left + width)
            pictures.append(grid[:, top : top + height, across])
            texts.append(grid[:, top + height : top + height + strip, across])
            rest[top : top + height + strip, across] = False
    return numpy.stack(pictures), numpy.stack(texts), grid[:, rest]


@pytest.mark.parametrize("kind", ["float32", "float16", "float64", "uint8"])
@pytest.mark.parametrize("pad_value", [0, 1, 0.25, (1, 0, 0), (0, 1, 0)])
def test_labels_are_written_below_the_images(kind, pad_value):
    images = torch.rand(9, 3, 30, 60, dtype=torch.float64)
    white = 1
    if kind == "uint8":
        white = 255
        pad_value = tuple(int(255 * v) for v in numpy.atleast_1d(pad_value))
        images = images * 255
    images = images.to(getattr(torch, kind))
    arguments = {"nrow": 4, "pad_value": pad_value}
    grid = outlive.make_grid(images, labels=LABELS, **arguments)
    assert isinstance(grid, torch.Tensor) and grid.dtype is images.dtype
    assert same(outlive.make_grid(images.numpy(), labels=LABELS, **arguments), grid)
    assert same(outlive.make_grid(iter(images), labels=iter(LABELS), **arguments), grid)
    assert same(outlive.make_grid(list(images), labels=tuple(LABELS), **arguments), grid)

    pictures, texts, rest = strips(grid, 3, 4, 30, 60)
    assert same(pictures[:9], images)
    pad = numpy.broadcast_to(numpy.array(pad_value, grid.numpy().dtype), 3)
    assert (rest == pad[:, None]).all()
    assert (pictures[9:] == pad[:, None, None]).all()
    for cell in (1, 3, 9, 10, 11):
        assert (texts[cell] == pad[:, None, None]).all()
    ink = 0 if pad_value in (1, (255,), (0, 1, 0), (0, 255, 0)) else white
    for cell in (0, 2, 4, 5, 6, 7, 8):
        inked = (texts[cell] != pad[:, None, None]).any(0)
        assert 10 < inked.sum() < inked.size / 2
        # Strokes are thin: some pixel is nearer to the ink than to the padding, none is beyond it.
        away = numpy.abs(texts[cell].astype(float) - ink).sum(0)
        assert away.min() < away.max() / 2
        assert away.max() == numpy.abs(pad.astype(float) - ink).sum()
        # In the middle, but for the space that belongs to a letter.
        across = numpy.flatnonzero(inked.any(0))
        assert abs(across[0] - (59 - across[-1])) <= 3, (cell, across)
    for cell in (2, 4, 5, 6, 7, 8):
        assert not numpy.array_equal(texts[0], texts[cell])
    assert 0 <= texts.min() and texts.max() <= white


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("height", [8, 130, 300])
def test_images_with_labels_are_those_without(height, padding):
    images = torch.randn(5, 1, height, 40)
    for arguments in ({}, {"normalize": True}, {"normalize": True, "scale_each": True}):
        arguments = {"nrow": 2, "padding": padding, **arguments}
        plain = outlive.make_grid(images, **arguments)
        for form in (images, images.numpy(), iter(images)):
            grid = outlive.make_grid(form, labels=list("abcde"), **arguments)
            pictures, texts, _ = strips(grid, 3, 2, height, 40, padding)
            pitch = height + padding
            for cell in range(5):
                top = padding + cell // 2 * pitch
                left = padding + cell % 2 * (40 + padding)
                assert same(plain[:, top : top + height, left : left + 40], pictures[cell])
                assert texts[cell].max() > 0.5 and texts[5].max() == 0


def test_a_single_image_with_a_label_is_a_grid(files):
    for image in (IMAGES[:1], IMAGES[0], IMAGES[0, 0], [IMAGES[0]], IMAGES[0].numpy()):
        grid = outlive.make_grid(image, labels="a")
        assert tuple(grid.shape) == (3, 8 + 12 + 4, 14)
        pictures, texts, _ = strips(grid, 1, 1, 8, 10)
        assert texts.any()
    grid = outlive.make_grid(files[0], labels=["name"])
    assert tuple(grid.shape) == (3, 20 + 12 + 4, 34)
    grid = outlive.make_grid(files, cell=(20, 40), labels=[file.name for file in files], nrow=5)
    pictures, texts, _ = strips(grid, 1, 5, 20, 40)
    assert all(text.max() > 128 for text in texts)
    assert len({text.tobytes() for text in texts}) == 5


def test_letters_are_not_transparent():
    for pad in (0, 1):
        images = torch.rand(2, 4, 30, 60)
        grid = outlive.make_grid(images, labels=["HHH", "HHH"], pad_value=pad, nrow=1)
        _, texts, _ = strips(grid, 2, 1, 30, 60)
        assert (texts[0] == texts[1]).all()
        assert (texts[:, :3].max() if pad == 0 else 1 - texts[:, :3].min()) > 0.8
        assert texts[:, 3].max() > 0.8
        assert pad == 0 or texts[:, 3].min() == 1


@pytest.mark.parametrize(
    "wrong, count", [(["a"], "is 1 label"), ([], "are 0 labels"), (["a"] * 11, "are 11 labels")]
)
def test_as_many_labels_as_images_are_needed(wrong, count, tmp_path):
    message = f"There {count} for 9 images"
    for images in (IMAGES, IMAGES.numpy(), iter(IMAGES), list(IMAGES)):
        with pytest.raises(ValueError, match=message):
            outlive.make_grid(images, labels=wrong)
    for images in (IMAGES, IMAGES.numpy()):
        with pytest.raises(ValueError, match=message):
            outlive.save_image(images, tmp_path / "a.png", labels=wrong)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="more than 9 labels for 9 images"):
        outlive.make_grid(IMAGES, labels=iter(int, 1))
    with pytest.raises(ValueError, match="There is 1 label for 9 images"):
        outlive.make_grid(IMAGES, labels="a text")


@pytest.mark.parametrize("kind", ["int32", "int8", "bool", "complex64"])
def test_labels_are_for_bytes_and_floating_point_numbers(kind):
    images = torch.zeros(2, 3, 8, 8, dtype=getattr(torch, kind))
    for form in (images, images.numpy(), iter(images)):
        with pytest.raises(TypeError, match=f"Labels .* not of .*{kind}"):
            outlive.make_grid(form, labels=["a", "b"])


@pytest.mark.parametrize("labels", [3, {"a": 1, "b": 2}, {"a", "b"}, b"ab"])
def test_labels_have_an_order(labels, tmp_path):
    images = iter(IMAGES[:2])
    with pytest.raises(TypeError, match="labels has to be"):
        outlive.make_grid(images, labels=labels)
    assert len(list(images)) == 2
    with pytest.raises(TypeError, match="labels has to be"):
        outlive.save_image(IMAGES[:2], tmp_path / "a.png", labels=labels)


def test_labels_of_any_kind_do_no_harm():
    images = torch.rand(2, 3, 20, 50)
    numbers = outlive.make_grid(images, labels=[3, 14])
    assert same(outlive.make_grid(images, labels=torch.tensor([3, 14])), numbers)
    assert same(outlive.make_grid(images, labels=numpy.array([3, 14])), numbers)
    for text in ("\udcff.png", "\n\t", "\0", "🦀" * 5000, "\u202eabc"):
        outlive.make_grid(images, labels=[text, text])
    for width in (1, 2, 5):
        outlive.make_grid(images[..., :width], labels=["text", "text"])
    for pad in (float("nan"), float("inf"), -0.0):
        grid = outlive.make_grid(images, labels=["", "text"], pad_value=pad)
        assert same(outlive.make_grid(images.numpy(), labels=["", "text"], pad_value=pad), grid)
        _, texts, rest = strips(grid, 1, 2, 20, 50)
        assert same(texts[0].ravel()[:9], rest.ravel()[:9])
        inked = texts[1][numpy.isfinite(texts[1]) & (texts[1] != pad)]
        assert len(inked) > 30 and (numpy.isfinite(pad) or {*inked.tolist()} == {float(pad != pad)})
    grid = outlive.make_grid(torch.rand(2, 3, 20, 50).bfloat16(), labels=["a", None])
    assert grid.dtype is torch.bfloat16 and (grid[:, 22:34, 2:52] > 0.5).any()


def test_labels_are_saved(tmp_path, files):
    images = torch.rand(7, 3, 40, 50)
    labels = [f"image {index}" for index in range(7)]
    for form in (images, list(images), images.numpy(), images.half(), images[:1], images[:, :1]):
        arguments = {"labels": labels[: len(form)], "nrow": 3, "pad_value": 0.2}
        outlive.save_image(form, tmp_path / "a.png", **arguments)
        grid = torch.as_tensor(outlive.make_grid(form, **arguments))
        expected = (grid * 255 + 0.5).clamp(0, 255).byte().permute(1, 2, 0)
        assert same(opened(tmp_path / "a.png"), expected)
    for form in (files, (images * 255).byte(), (images[:1] * 255).byte()):
        arguments = {"labels": labels[: len(form)], "pad_value": 40}
        if form is files:
            arguments["cell"] = (30, 30)
        outlive.save_image(form, tmp_path / "b.png", **arguments)
        expected = numpy.asarray(outlive.make_grid(form, **arguments)).transpose(1, 2, 0)
        assert same(opened(tmp_path / "b.png"), numpy.ascontiguousarray(expected))
    outlive.save_image(images, tmp_path / "c.jpg", labels=labels)
    assert opened(tmp_path / "c.jpg").size == (7 * 52 + 2, 40 + 12 + 4)


def test_a_grid_grows_and_is_saved_as_often_as_one_likes(tmp_path, files):
    grid = outlive.Grid(cell=(8, 10), columns=3, padding=1, background="#102030", labels=False)
    grid.add(IMAGES)
    grid.save(tmp_path / "a.png")
    pixels = numpy.asarray(opened(tmp_path / "a.png"))
    assert pixels.shape == (3 * 9 + 1, 3 * 11 + 1, 3)
    assert pixels[0, 0].tolist() == [0x10, 0x20, 0x30]
    expected = (IMAGES[4] * 255 + 0.5).clamp(0, 255).byte().permute(1, 2, 0).numpy()
    assert numpy.array_equal(pixels[10:18, 12:22], expected)
    grid.add(files).add(numpy.zeros((4, 4), bool)).add(opened(files[0]), labels="a file")
    assert len(grid) == 16
    for name in ("b.png", "b.jpg", "b.webp"):
        grid.save(tmp_path / name)
        assert opened(tmp_path / name).size == (34, 6 * 9 + 1)
    grid.save(tmp_path / "page")
    grid.add(IMAGES)
    grid.save(tmp_path / "page")
    grid.save(tmp_path / "page.zip")
    assert '"cells":25' in (tmp_path / "page" / "grid.js").read_text().replace(" ", "")
    with zipfile.ZipFile(tmp_path / "page.zip") as archive:
        assert any(name.endswith("index.html") for name in archive.namelist())


def test_another_grid_of_as_many_cells_replaces_a_page(tmp_path):
    for value in (0, 255):
        image = numpy.full((16, 16), value, numpy.uint8)
        outlive.Grid().add(image).save(tmp_path / "page")
        tiles = sorted((tmp_path / "page" / "grid_files").rglob("*.jpg"))
        assert abs(int(numpy.asarray(opened(tiles[-1])).ravel()[0]) - value) < 3


def test_a_damaged_file_is_a_cell_that_says_so(tmp_path):
    (tmp_path / "cut.jpg").write_bytes(b"\xff\xd8\xff")
    grid = outlive.Grid(cell=(64, 64)).add([tmp_path / "cut.jpg", "missing.png"])
    grid.save(tmp_path / "page")
    assert len((tmp_path / "page" / "broken.tsv").read_text().splitlines()) == 2


def test_labels_have_room_below_the_images(tmp_path):
    grid = outlive.Grid(columns=2, padding=0).add(IMAGES[:2], labels=["cat", 7])
    grid.save(tmp_path / "a.png")
    width, height = opened(tmp_path / "a.png").size
    assert width == 20 and height > 8
    with pytest.raises(ValueError, match="fewer labels"):
        grid.add(IMAGES, labels=["one"])


def test_a_grid_refuses_what_makes_no_sense(tmp_path):
    with pytest.raises(outlive.OutliveError, match="no cells"):
        outlive.Grid().save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="No grid can be written"):
        outlive.Grid().add(IMAGES).save(tmp_path / "a.txt")
    with pytest.raises(OSError):
        outlive.Grid().add(IMAGES).save(tmp_path / "missing" / "a.png")
    with pytest.raises(ValueError, match="colour"):
        outlive.Grid(background="white")
    with pytest.raises(ValueError, match="channels"):
        outlive.Grid().add(torch.rand(5, 4, 4))
    with pytest.raises(ValueError, match="value_range"):
        outlive.Grid().add(iter(IMAGES), normalize=True)
    for wrong in ({"cell": (0, 4)}, {"columns": 0}, {"padding": -1}):
        with pytest.raises(ValueError):
            outlive.Grid(**wrong)


def test_values_of_a_grid_are_brought_to_the_range_that_make_grid_brings_them_to(tmp_path):
    images = torch.randn(4, 3, 6, 6)
    for arguments in ({}, {"scale_each": True}, {"value_range": (-1.0, 1.0)}):
        for form in (images, list(images), images.numpy()):
            grid = outlive.Grid(columns=4, padding=0).add(form, normalize=True, **arguments)
            grid.save(tmp_path / "a.png")
            outlive.save_image(images, tmp_path / "b.png", padding=0, normalize=True, **arguments)
            ours, expected = (opened(tmp_path / name) for name in ("a.png", "b.png"))
            assert numpy.array_equal(numpy.asarray(ours), numpy.asarray(expected))


LARGE = (4, 3, 512, 512)


def test_a_grid_that_is_not_of_the_usual_kind_is_refused_too():
    with pytest.raises(outlive.OverBudget):
        outlive.make_grid(torch.rand(4, 3, 8, 8), nrow=numpy.int64(2), max_bytes=1)
    with pytest.raises(outlive.OverBudget):
        outlive.make_grid(torch.rand(1, 8, 8), max_bytes=1)


def test_grids_of_no_memory_of_their_own_are_made():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torchvision.utils import make_grid

    images = torch.rand(LARGE)
    batches = torch.rand(2, *LARGE)
    together = torch.vmap(outlive.make_grid)(batches)
    assert torch.equal(together, torch.stack([make_grid(batch) for batch in batches]))
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert outlive.make_grid(images).shape == make_grid(images).shape


def test_a_file_does_not_depend_on_the_default_device():
    with torch.device("meta"):
        grid = outlive.make_grid(torch.rand(4, 3, 8, 8, device="cpu"), max_bytes=1, over="file")
    assert grid.device.type == "cpu"


def test_nothing_is_added_without_an_error():
    assert len(outlive.Grid().add([], normalize=True)) == 0
