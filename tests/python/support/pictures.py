"""Pictures that are hard to read, or should not be read at all, made with Pillow and by hand."""

import io
import os
import struct
import zlib

from PIL import Image, ImageDraw


def shape(width=200, height=100, mode="RGB"):
    """Red at the left, blue at the right, a white bar above: every turn is told apart."""
    image = Image.new("RGB", (width, height), (200, 30, 30))
    draw = ImageDraw.Draw(image)
    draw.rectangle((width // 2, 0, width, height), fill=(30, 30, 200))
    draw.rectangle((0, 0, width, height // 5), fill=(250, 250, 250))
    return image.convert(mode)


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def png_chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_that_claims(width, height, depth=8, colours=2):
    """A few bytes that claim a gigantic picture, and begin to deliver it."""
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header)
    return start + png_chunk(b"IDAT", zlib.compress(bytes(1 << 20))) + png_chunk(b"IEND", b"")


def jpeg_that_claims(width, height, progressive):
    file = bytearray(encoded(shape(), "JPEG", progressive=progressive))
    frame = file.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    file[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(file)


def good():
    """Files that are pictures, whatever they look like: name, bytes."""
    files = {
        "plain.jpg": encoded(shape(), "JPEG", quality=95),
        "progressive.jpg": encoded(shape(), "JPEG", quality=95, progressive=True),
        "grey.jpg": encoded(shape(mode="L"), "JPEG", quality=95),
        "print.jpg": encoded(shape(mode="CMYK"), "JPEG", quality=95),
        "plain.png": encoded(shape(), "PNG"),
        "palette.png": encoded(shape().quantize(8), "PNG"),
        "sixteen.png": encoded(Image.new("I;16", (200, 100), 40_000), "PNG"),
        "one-bit.png": encoded(shape(mode="1"), "PNG"),
        "lossy.webp": encoded(shape(), "WEBP", quality=95),
        "lossless.webp": encoded(shape(), "WEBP", lossless=True),
        "plain.gif": encoded(shape(), "GIF"),
        "plain.bmp": encoded(shape(), "BMP"),
        "plain.tiff": encoded(shape(), "TIFF"),
        "big.tiff": encoded(shape(), "TIFF", big_tiff=True),
        "jpeg.tiff": encoded(shape(), "TIFF", compression="jpeg", quality=95),
        "strips.tiff": encoded(shape(), "TIFF", compression="jpeg", tiffinfo={278: 16}),
        "plain.ppm": encoded(shape(), "PPM"),
        "plain.tga": encoded(shape(), "TGA"),
        "packed.tga": encoded(shape(), "TGA", compression="tga_rle"),
        "plain.ico": encoded(shape(), "ICO", sizes=[(16, 16), (200, 100)]),
        "bitmap.ico": encoded(shape(), "ICO", sizes=[(128, 64)], bitmap_format="bmp"),
        "wrong-name.png": encoded(shape(), "JPEG", quality=95),
        "tail.jpg": encoded(shape(), "JPEG", quality=95) + b"appended by a phone" * 100,
    }
    for kind in ("GIF", "WEBP", "PNG"):
        frames = [shape(), Image.new("RGB", (200, 100), (0, 255, 0))]
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], duration=100)
        files[f"moving.{kind.lower()}"] = data
    return files


def turned():
    """A picture stored in each of the eight ways of EXIF, all of which show the same."""
    undo = {
        1: [],
        2: [Image.Transpose.FLIP_LEFT_RIGHT],
        3: [Image.Transpose.ROTATE_180],
        4: [Image.Transpose.FLIP_TOP_BOTTOM],
        5: [Image.Transpose.TRANSPOSE],
        6: [Image.Transpose.ROTATE_90],
        7: [Image.Transpose.TRANSVERSE],
        8: [Image.Transpose.ROTATE_270],
    }
    for value, steps in undo.items():
        image = shape()
        for step in steps:
            image = image.transpose(step)
        exif = Image.Exif()
        exif[0x0112] = value
        for kind in ("JPEG", "PNG", "WEBP", "TIFF"):
            options = {"quality": 95} if kind != "TIFF" else {}
            yield (
                f"{kind.lower()}-{value}.{kind.lower()}",
                encoded(image, kind, exif=exif, **options),
            )


def bad():
    """Files that are no pictures, or want more memory than they may have: name, bytes."""
    jpeg = encoded(shape(800, 600), "JPEG", quality=90)
    png = encoded(Image.effect_noise((300, 200), 60), "PNG")
    webp = encoded(shape(), "WEBP", quality=90)
    flipped = bytearray(jpeg)
    flipped[len(jpeg) // 2 :] = bytes(byte ^ 0x55 for byte in jpeg[len(jpeg) // 2 :])
    return {
        "empty.jpg": b"",
        "one-byte.png": b"\x89",
        "text.jpg": b"<html>not found</html>",
        "half.jpg": jpeg[: len(jpeg) // 2],
        "half.png": png[: len(png) // 2],
        "half.webp": webp[: len(webp) // 2],
        "flipped.jpg": bytes(flipped),
        "bomb.jpg": jpeg_that_claims(65_500, 65_500, progressive=True),
        "claims.jpg": jpeg_that_claims(65_535, 65_535, progressive=False),
        "bomb.png": png_that_claims(65_535, 65_535),
        "two-gib.png": png_that_claims(26_000, 26_000),
        "wide.png": png_that_claims(2**31 - 1, 1, depth=16, colours=6),
        "no-size.png": png_that_claims(0, 0),
        "heic.jpg": b"\0\0\0\x18ftypheic" + bytes(40),
        "bmp-bomb.bmp": b"BM"
        + struct.pack("<IHHI", 54, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0),
        "gif-bomb.gif": b"GIF89a"
        + struct.pack("<HHBBB", 65_535, 65_535, 0, 0, 0)
        + b","
        + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0)
        + b"\x08\x01\x00;",
        "noise.webp": b"RIFF" + struct.pack("<I", 1000) + b"WEBPVP8 " + os.urandom(900),
    }


def png_with(chunks, width=10, height=10):
    """A black picture with other things before its pixels."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    pixels = png_chunk(b"IDAT", zlib.compress(bytes((width * 4 + 1) * height)))
    return b"\x89PNG\r\n\x1a\n" + header + chunks + pixels + png_chunk(b"IEND", b"")


def png_with_a_long_start():
    return png_with(png_chunk(b"eXIf", b"MM\0*" + bytes(1_900_000)))


def ico_with(png):
    directory = struct.pack("<HHHBBBBHHII", 0, 1, 1, 10, 10, 0, 0, 1, 32, len(png), 22)
    return directory + png


def tiff_of_numbers(count):
    """A picture of one row that has millions of strips."""
    entries = {256: (4, 1, 1), 257: (4, 1, 1), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1)}
    entries |= {273: (1, count, 122), 277: (3, 1, 1), 278: (4, 1, 1), 279: (1, count, 122)}
    directory = b"".join(struct.pack("<HHII", tag, *rest) for tag, rest in entries.items())
    return struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + directory + bytes(4 + count)


def tiff_with(jpeg, side=16):
    """A grey picture whose only strip is a JPEG of any size."""
    numbers = {256: side, 257: side, 258: 8, 259: 7, 262: 1, 273: 122, 277: 1, 278: side}
    numbers[279] = len(jpeg)
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, it) for tag, it in numbers.items())
    head = struct.pack("<2sHIH", b"II", 42, 8, len(numbers)) + directory
    return head + bytes(122 - len(head)) + jpeg


def png_of_bits(width, height):
    """A black picture of a bit a pixel, which packs to a thousandth of that."""
    rows = zlib.compressobj(1)
    packed = [rows.compress(bytes((width // 8 + 1) * 1000)) for _ in range(height // 1000)]
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    pixels = png_chunk(b"IDAT", b"".join(packed) + rows.flush())
    return b"\x89PNG\r\n\x1a\n" + header + pixels + png_chunk(b"IEND", b"")


def jpeg_of_scans(count, side=2000):
    """A grey picture that is gone over many times, for a few bytes each time."""
    file = bytearray(encoded(shape(mode="L"), "JPEG", progressive=True))
    frame = file.index(b"\xff\xc2")
    file[frame + 5 : frame + 9] = struct.pack(">HH", side, side)
    blocks = (side // 8) ** 2
    # Codes of one bit: no difference to the block before; the end of 32,767 blocks.
    codes = bytes([0, 2]) + bytes(14)
    first = b"\xff\xc4\0\x15\0" + codes + b"\0\x01"
    later = b"\xff\xc4\0\x15\x10" + codes + b"\xe0\0"
    scans = first + b"\xff\xda\0\x08\x01\x01\0\0\0\x01" + bytes(blocks // 4 + 1) + later
    blank = b"\x3f\xff\0" * (blocks // 32_767 + 1)
    for number in range(count):
        bits = 0x01 if number == 0 else 0x10
        scans += b"\xff\xda\0\x08\x01\x01\0" + bytes([1, 63, bits]) + blank
    return bytes(file[: file.index(b"\xff\xda")]) + scans + b"\xff\xd9"


def packed():
    """Small files that unpack to much memory or much work, if anybody does: name, bytes."""
    zeros = zlib.compressobj(9)
    much = b"".join(zeros.compress(bytes(1 << 20)) for _ in range(300)) + zeros.flush()
    return {
        "profile.ico": ico_with(png_with(png_chunk(b"iCCP", b"k\0\0" + much))),
        "profile.png": png_with(png_chunk(b"iCCP", b"k\0\0" + much)),
        "text.png": png_with(png_chunk(b"zTXt", b"k\0\0" + much)),
        "numbers.tiff": tiff_of_numbers(6_000_000),
        "inside.tiff": tiff_with(encoded(Image.new("L", (8192, 8192)), "JPEG", progressive=True)),
        "bits.png": png_of_bits(8192, 140_000),
        "scans.jpg": jpeg_of_scans(101),
    }


NAMES = [
    "quote'.jpg",
    'double".jpg',
    "line\nbreak.jpg",
    "tab\there.jpg",
    "<script>window.hacked = 1<\u2044script>.jpg",
    "<img src=x onerror=window.hacked=1>.jpg",
    "back\\slash.jpg",
    "per%20cent.jpg",
    "hash#question?.jpg",
    "\u202eright-to-left.jpg",
    "\u2028separator.jpg",
    "\U0001f600.jpg",
    " .jpg",
]
