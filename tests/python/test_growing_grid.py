"""`outlive.Grid` among threads, forks and mistakes: no cell is lost, doubled or overwritten."""

import errno
import io
import os
import pickle
import signal
import tempfile
import threading
import tracemalloc
import zipfile

import pytest

numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import outlive  # noqa: E402


def image_of(value):
    return numpy.full((3, 8, 8), value, numpy.uint8)


def cells_of(path, columns):
    """The value in the middle of each cell."""
    pixels = numpy.asarray(Image.open(path).convert("L"))
    return [int(pixels[6, 6 + 10 * column]) for column in range(columns)]


def test_threads_add_while_another_saves(tmp_path):
    grid = outlive.Grid(cell=(8, 8))
    grid.add(image_of(0))
    failures = []

    def add():
        try:
            for _ in range(100):
                grid.add(image_of(9))
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        grid.save(tmp_path / "seen.png")
    assert failures == []
    assert len(grid) == 401


def test_a_forked_process_does_not_write_over_the_cells_of_its_parent(tmp_path):
    grid = outlive.Grid(cell=(8, 8), columns=3)
    grid.add([image_of(33)] * 2)
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: grid.add(image_of(77)), lambda: grid.save(tmp_path / "child.png")):
            try:
                use()
            except RuntimeError as error:
                refused += "hint: " in str(error)
        os._exit(0 if refused == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    grid.add(image_of(33)).save(tmp_path / "parent.png")
    assert cells_of(tmp_path / "parent.png", 3) == [33, 33, 33]
    assert not (tmp_path / "child.png").exists()


def test_a_grid_is_not_saved_without_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="a name"):
        outlive.Grid().add(image_of(1)).save("")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing_is_an_error_python_knows(tmp_path):
    grid = outlive.Grid().add(image_of(1))
    for name in ("a.png", "a.jpg", "a.webp", "a.zip"):
        with pytest.raises(FileNotFoundError, match=r"gone/a\.") as caught:
            grid.save(tmp_path / "gone" / name)
        assert caught.value.errno == errno.ENOENT
        assert "os error" not in str(caught.value)


def test_too_few_labels_leave_the_grid_as_it_was():
    grid = outlive.Grid(cell=(8, 8))
    for images in ([image_of(1)] * 3, numpy.stack([image_of(1)] * 3)):
        with pytest.raises(ValueError, match="1 for 3"):
            grid.add(images, labels=["a"])
    assert len(grid) == 0


def test_too_many_labels_are_those_of_other_images():
    grid = outlive.Grid(cell=(8, 8))
    with pytest.raises(ValueError, match="more labels than images: 3 for 2"):
        grid.add([image_of(1)] * 2, labels=list("abc"))
    assert len(grid) == 0


def test_a_cell_is_height_and_width():
    for wrong in (8, "largest", (8,)):
        with pytest.raises(ValueError, match=r"\(height, width\)"):
            outlive.Grid(cell=wrong)


def test_a_text_is_one_label():
    grid = outlive.Grid(cell=(8, 8))
    with pytest.raises(ValueError, match="1 for 3"):
        grid.add([image_of(1)] * 3, labels="cat")
    assert len(grid) == 0
    assert len(grid.add(image_of(1), labels="cat")) == 1


def test_an_empty_grid_that_is_saved_has_no_size_yet(tmp_path):
    grid = outlive.Grid()
    with pytest.raises(outlive.OutliveError, match="no cells"):
        grid.save(tmp_path / "a.png")
    grid.add(image_of(1)).save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as sheet:
        assert sheet.size == (12, 12)


def test_a_handler_of_signals_saves_the_grid(tmp_path):
    grid = outlive.Grid(cell=(8, 8))

    class Label:
        def __str__(self):
            signal.raise_signal(signal.SIGUSR1)
            return "label"

    saved = []

    def save(*_):
        grid.save(tmp_path / "a.png")
        saved.append(len(grid))

    before = signal.signal(signal.SIGUSR1, save)
    try:
        grid.add([image_of(1)] * 3, labels=[None, Label(), None])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (saved, len(grid)) == ([1], 3)


def test_images_that_a_handler_adds_before_the_first_one_are_kept(monkeypatch):
    grid = outlive.Grid()
    folder, calls = tempfile.gettempdir(), []

    def gettempdir():
        calls.append(None)
        if len(calls) == 1:
            grid.add(image_of(1))  # As a handler would, at the worst moment.
        return folder

    monkeypatch.setattr(tempfile, "gettempdir", gettempdir)
    assert len(grid.add(image_of(2))) == 2


def test_the_range_of_a_list_is_that_of_its_floating_point_images(tmp_path):
    Image.fromarray(numpy.full((8, 8, 3), 200, numpy.uint8)).save(tmp_path / "a.png")
    low, high = (numpy.full((3, 8, 8), value, numpy.float32) for value in (1, 3))
    images = [low, tmp_path / "a.png", image_of(200), tmp_path / "gone.png", high]
    grid = outlive.Grid(cell=(8, 8), columns=5).add(images, normalize=True)
    grid.save(tmp_path / "sheet.png")
    cells = cells_of(tmp_path / "sheet.png", 5)
    assert (cells[:3], cells[4]) == ([0, 200, 200], 255)


def test_a_plane_whose_least_value_is_a_negative_zero_is_scaled(tmp_path):
    torch = pytest.importorskip("torch")
    for plane in (torch.tensor([[-0.0, 1.0]]), numpy.array([[-0.0, 1.0]], numpy.float32)):
        outlive.Grid(cell=(2, 2)).add([plane], normalize=True).save(tmp_path / "a.png")
        assert numpy.asarray(Image.open(tmp_path / "a.png"))[2:4, 2:4].max() == 255


def test_what_is_no_number_has_the_same_effect_wherever_it_stands(tmp_path):
    good = numpy.linspace(0, 1, 3 * 64, dtype=numpy.float32).reshape(3, 8, 8)
    bad = numpy.full((3, 8, 8), numpy.nan, numpy.float32)
    for images in ([good, bad], [bad, good]):
        grid = outlive.Grid(cell=(8, 8), columns=2).add(images, normalize=True)
        grid.save(tmp_path / "a.png")
        assert cells_of(tmp_path / "a.png", 2) == [0, 0]


def test_a_folder_may_have_a_dot_in_its_name(tmp_path):
    grid = outlive.Grid().add(image_of(1))
    (tmp_path / "out.d").mkdir()
    for name in ("lr-0.5/", "page.png/", "out.d"):
        grid.save(f"{tmp_path}/{name}")
        assert (tmp_path / name / "index.html").exists()
    grid.save(tmp_path / "PAGE.ZIP")
    assert zipfile.is_zipfile(tmp_path / "PAGE.ZIP")
    with pytest.raises(ValueError, match=r"hint: .*or with / if"):
        grid.save(tmp_path / "page.v2")


def test_channels_that_come_last_are_named():
    with pytest.raises(ValueError, match=r"hint: channels come first: \(3, 32, 30\)"):
        outlive.Grid().add(numpy.zeros((32, 30, 3), numpy.uint8))


def test_a_damaged_file_harms_none_that_follows(tmp_path):
    pixels = numpy.arange(40 * 40 * 3, dtype=numpy.uint32).reshape(40, 40, 3) // 19
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(numpy.uint8)).save(buffer, "JPEG", quality=90)
    good = buffer.getvalue()
    frame = good.index(b"\xff\xc0")
    damaged = bytearray(good)
    damaged[frame + 11] = 0
    (tmp_path / "bad.jpg").write_bytes(damaged)
    (tmp_path / "good.jpg").write_bytes(good)
    grid = outlive.Grid(cell=(40, 40), columns=3)
    for name in ("good", "bad", "good"):
        grid.add(tmp_path / f"{name}.jpg")
    grid.save(tmp_path / "sheet.png")
    sheet = numpy.asarray(Image.open(tmp_path / "sheet.png").convert("RGB"))
    first, second, third = (sheet[2:42, 2 + 42 * at : 42 + 42 * at] for at in range(3))
    assert (first == third).all()
    assert (first != second).any()


def test_files_do_not_go_with_floating_point_images(tmp_path):
    Image.fromarray(numpy.zeros((8, 8, 3), numpy.uint8)).save(tmp_path / "a.png")
    mixed = [tmp_path / "a.png", numpy.zeros((3, 8, 8), numpy.float32)]
    for images in (mixed, mixed[::-1], iter(mixed)):
        with pytest.raises(TypeError, match="from 0 to 255"):
            outlive.make_grid(images)


def test_a_budget_may_be_written_as_a_size():
    images = numpy.zeros((4, 3, 64, 64), numpy.uint8)
    with pytest.raises(outlive.OverBudget):
        outlive.make_grid(images, max_bytes="10KiB")
    for enough in ("1MiB", "0.2 MiB", 1e6):
        assert outlive.make_grid(images, max_bytes=enough).shape == (3, 68, 266)
    with pytest.raises(outlive.OverBudget, match="of 54,264 bytes is over"):
        outlive.make_grid(images, max_bytes=54_263)
    for wrong in ("much", -1, "80%"):
        with pytest.raises(ValueError, match="much|negative|no share"):
            outlive.make_grid(images, max_bytes=wrong)


def test_of_an_iterator_is_said_how_many_images_were_read():
    images = (numpy.zeros((3, 64, 64), numpy.uint8) for _ in range(1000))
    with pytest.raises(outlive.OverBudget, match="of the first 2 images alone takes") as caught:
        outlive.make_grid(images, max_bytes="20KiB")
    assert caught.value.images == 2
    assert next(images, None) is not None


def test_a_file_is_only_recommended_where_it_would_help():
    images = numpy.zeros((4, 3, 8, 8), numpy.uint8)
    with pytest.raises(outlive.OverBudget, match='over="file"'):
        outlive.make_grid(images, max_bytes=10)
    torch = pytest.importorskip("torch")
    odd = {"nrow": numpy.uint8(4), "max_bytes": 10}
    for over in ("raise", "file"):
        with pytest.raises(outlive.OverBudget) as caught:
            outlive.make_grid(torch.from_numpy(images), over=over, **odd)
        assert "temporary file" not in str(caught.value)
        again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
        assert str(again) == str(caught.value)


def test_brightness_never_becomes_transparency():
    grey, other = Image.new("L", (8, 8), 0), Image.new("RGBA", (8, 8))
    for images in ([grey, other], [other, grey], [grey, Image.new("LA", (8, 8))]):
        with pytest.raises(ValueError, match="channels"):
            outlive.make_grid(images)
    assert outlive.make_grid([grey, Image.new("RGB", (8, 8))]).shape == (3, 12, 22)


@pytest.mark.parametrize("answer", [True, 1 << 40, -1, "much", None])
def test_a_file_may_answer_a_write_with_anything(answer):
    written = []

    class File:
        name = "a.png"

        def write(self, data):
            written.append(data)
            return answer

    outlive.save_image(numpy.full((3, 8, 8), 7, numpy.uint8), File(), format="png")
    pixels = numpy.asarray(Image.open(io.BytesIO(b"".join(written))))
    assert pixels.shape == (8, 8, 3)
    assert (pixels == 7).all()


def test_a_picture_of_bytes_is_written_without_a_second_copy(tmp_path):
    image = numpy.zeros((3, 3000, 3000), numpy.uint8)
    with tempfile.TemporaryFile() as file:
        tracemalloc.start()
        outlive.save_image(image, file, format="png")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 8 << 20
