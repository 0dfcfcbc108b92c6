"""`outlive.save_image` saves the pixels that torchvision saves, and fails as it fails."""

import io
import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

from torchvision.utils import save_image as expected  # noqa: E402

import outlive  # noqa: E402


def pictures():
    torch.manual_seed(3)
    values = torch.randn(19, 3, 20, 30)
    broken = torch.where(values > 1, torch.tensor(float("nan")), values)
    return {
        "batch": (values, {}),
        "normalize": (values, {"normalize": True, "pad_value": 0.7}),
        "list": (list(values), {"nrow": 4, "padding": 0}),
        "grey": (values[:, :1], {"normalize": True}),
        "single": (values[0], {}),
        "single grey": (values[0, :1], {"normalize": True}),
        "plane": (values[0, 0], {}),
        "half": (values.half(), {"normalize": True, "scale_each": True}),
        "bfloat16": (values.bfloat16(), {}),
        "double": (values.double(), {"pad_value": 2.0}),
        "not a number": (broken, {}),
        "infinite": (values / 0, {}),
        "leaf": (values.clone().requires_grad_(), {}),
        "two channels": (torch.rand(5, 2, 9, 7), {}),
        "four channels": (torch.rand(5, 4, 9, 7), {}),
        "tall": (torch.rand(2, 3, 3000, 200), {}),
    }


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "webp", "tiff"])
@pytest.mark.parametrize("name", pictures())
def test_the_pixels_are_the_same(tmp_path, name, ending):
    images, arguments = pictures()[name]
    if "channels" in name and ending in ("jpg", "bmp"):
        with pytest.raises(OSError, match="cannot write mode"):
            outlive.save_image(images[:, :2], tmp_path / f"ours.{ending}", **arguments)
        return
    expected(images, tmp_path / f"theirs.{ending}", **arguments)
    outlive.save_image(images, tmp_path / f"ours.{ending}", **arguments)
    with Image.open(tmp_path / f"theirs.{ending}") as theirs:
        with Image.open(tmp_path / f"ours.{ending}") as ours:
            assert (ours.mode, ours.size, ours.format) == (theirs.mode, theirs.size, theirs.format)
            assert numpy.array_equal(numpy.asarray(ours), numpy.asarray(theirs))


def failing():
    values = torch.rand(3, 3, 4, 4)
    return [
        (values.byte(), "z.png", None, {}),
        (values.long(), "z.png", None, {}),
        (values > 0.5, "z.png", None, {}),
        (torch.rand(2, 5, 3, 3), "z.png", None, {}),
        (torch.rand(2, 3, 4, 4, 4), "z.png", None, {}),
        (torch.rand(2, 3, 0, 4), "z.png", None, {"padding": 0}),
        (torch.tensor([1.0]), "z.png", None, {}),
        (torch.rand(0, 3, 4, 4), "z.png", None, {}),
        (values, io.BytesIO(), None, {}),
        (values, "z.foo", None, {}),
        (values, "z", None, {}),
        (values, "z.png", "FOO", {}),
        (values, "missing/z.png", None, {}),
        (values, "/dev/full", "png", {}),
        (values, 3, None, {}),
        (values, None, "png", {}),
        (values, "z.png", None, {"nrow": 0}),
        (values, "z.png", None, {"nope": 1}),
        (values, "z.png", None, {"pad_value": "x"}),
        ([], "z.png", None, {}),
        (values.to("meta"), "z.png", None, {}),
    ]


@pytest.mark.parametrize("case", range(len(failing())))
def test_what_cannot_be_saved_ends_the_same_way(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    images, target, name, arguments = failing()[case]
    with pytest.raises(Exception) as theirs:
        expected(images, target, name, **arguments)
    with pytest.raises(Exception) as ours:
        outlive.save_image(images, target, name, **arguments)
    assert ours.type is theirs.type
    assert os.listdir(tmp_path) == []


def test_open_files_are_written_and_left_open(tmp_path):
    images = torch.rand(3, 3, 8, 8)
    memory = io.BytesIO()
    outlive.save_image(images, memory, format="PNG")
    with open(tmp_path / "named.png", "wb", buffering=0) as file:
        outlive.save_image(images, file)
        assert not file.closed
    assert (tmp_path / "named.png").read_bytes() == memory.getvalue()
    with Image.open(memory) as found:
        assert found.size == (32, 12)


def test_a_file_that_fails_in_the_middle_raises_its_own_error_and_is_taken_away(tmp_path):
    class Cut(io.RawIOBase):
        room = 5000

        def write(self, data):
            self.room -= len(data)
            if self.room < 0:
                raise ConnectionResetError("gone")
            return len(data)

    with pytest.raises(ConnectionResetError, match="gone"):
        outlive.save_image(torch.rand(9, 3, 64, 64), Cut(), format="png")
    path = tmp_path / "old.png"
    path.write_bytes(b"kept")
    with pytest.raises(TypeError):
        outlive.save_image(torch.rand(9, 3, 4, 4), path, value_range=[0, 1], normalize=True)
    assert path.read_bytes() == b"kept"


def test_bytes_of_arrays_are_saved_as_they_are(tmp_path):
    images = numpy.arange(4 * 3 * 5 * 6, dtype=numpy.uint8).reshape(4, 3, 5, 6)
    outlive.save_image(images, tmp_path / "a.png", padding=0, nrow=4)
    with Image.open(tmp_path / "a.png") as found:
        pixels = numpy.asarray(found)
    assert numpy.array_equal(pixels[:, 6:12].transpose(2, 0, 1), images[1])
    values = numpy.linspace(-0.5, 1.5, 4 * 3 * 5 * 6, dtype=numpy.float32).reshape(4, 3, 5, 6)
    outlive.save_image(values, tmp_path / "b.png")
    expected(torch.from_numpy(values), tmp_path / "c.png")
    with Image.open(tmp_path / "b.png") as ours, Image.open(tmp_path / "c.png") as theirs:
        assert numpy.array_equal(numpy.asarray(ours), numpy.asarray(theirs))
