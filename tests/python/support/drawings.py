"""Small pictures, drawn and not photographed: the same number gives the same picture."""

from __future__ import annotations

import colorsys
import math
import random

# Drawn larger and made smaller, so that edges are smooth.
FINER = 2


def drawing(kind, seed, size):
    """A picture of a kind (`hills`, `flower`, …)."""
    from PIL import Image, ImageDraw

    chance = random.Random(seed)
    width, height = size[0] * FINER, size[1] * FINER
    image = Image.new("RGB", (width, height))
    pen = ImageDraw.Draw(image)
    DRAWN[kind](pen, width, height, chance)
    return image.resize(size, Image.Resampling.BOX)


def colour(hue, saturation, value):
    """A colour of the wheel; `hue` may be beyond 1."""
    parts = colorsys.hsv_to_rgb(hue % 1, saturation, value)
    return tuple(round(part * 255) for part in parts)


def sky(pen, width, height, above, below):
    """Fills the picture from one colour to another."""
    for y in range(height):
        share = y / height
        mixed = tuple(round(a + (b - a) * share) for a, b in zip(above, below))
        pen.line((0, y, width, y), fill=mixed)


def disc(pen, x, y, radius, fill):
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def hills(pen, width, height, chance):
    hue = chance.choice((0.04, 0.08, 0.55, 0.6, 0.66, 0.9))
    sky(pen, width, height, colour(hue, 0.35, 0.98), colour(hue + 0.1, 0.15, 1))
    x, y = width * chance.uniform(0.2, 0.8), height * chance.uniform(0.2, 0.45)
    disc(pen, x, y, height * 0.11, colour(hue + 0.08, 0.25, 1))
    for layer in range(4):
        base = height * (0.5 + layer * 0.13)
        waves = [(chance.uniform(1, 4), chance.uniform(0, 7), height * 0.05) for _ in range(2)]
        line = [
            (x, base + sum(a * math.sin(f * 3 * x / width + p) for f, p, a in waves))
            for x in range(0, width + 8, 8)
        ]
        shade = colour(hue + 0.45 - layer * 0.02, 0.25 + layer * 0.13, 0.8 - layer * 0.16)
        pen.polygon([*line, (width, height), (0, height)], fill=shade)


def flower(pen, width, height, chance):
    hue = chance.choice((0.0, 0.05, 0.11, 0.6, 0.75, 0.87, 0.94))
    ground = chance.choice((0.1, 0.35, 0.55))
    sky(pen, width, height, colour(ground, 0.1, 0.98), colour(ground, 0.2, 0.9))
    x, y, petals = width / 2, height / 2, chance.randint(5, 11)
    reach = min(width, height) * 0.27
    for ring, shrink in enumerate((1, 0.62)):
        for petal in range(petals):
            angle = 2 * math.pi * (petal + ring / 2) / petals
            at = x + reach * shrink * math.cos(angle), y + reach * shrink * math.sin(angle)
            value = 0.82 + 0.16 * ring
            disc(pen, *at, reach * shrink * 2.6 / petals + reach * 0.18, colour(hue, 0.55, value))
    disc(pen, x, y, reach * 0.36, colour(0.13, 0.6, 0.98))


def planet(pen, width, height, chance):
    hue = chance.choice((0.1, 0.5, 0.55, 0.62))
    sky(pen, width, height, colour(0.65, 0.6, 0.16), colour(0.7, 0.5, 0.34))
    for _ in range(60):
        disc(pen, chance.random() * width, chance.random() * height, chance.random() * 3, "white")
    x, y, radius = width * 0.5, height * 0.52, height * chance.uniform(0.2, 0.32)
    tilt = radius * 0.34
    ring = colour(0.1, 0.25, 0.95)
    stroke = round(radius * 0.1)
    box = (x - radius * 1.7, y - tilt, x + radius * 1.7, y + tilt)
    pen.arc(box, 180, 360, fill=ring, width=stroke)
    for step in range(24):
        part = step / 24
        at = x - radius * 0.25 * part, y - radius * 0.25 * part
        shade = colour(hue, 0.5, 0.5 + 0.45 * part)
        disc(pen, *at, radius * (1 - part * 0.72), shade)
    pen.arc(box, 0, 180, fill=ring, width=stroke)


def waves(pen, width, height, chance):
    hue = 0.5 + chance.uniform(-0.08, 0.14)
    sky(pen, width, height, colour(hue + 0.45, 0.3, 1), colour(hue + 0.4, 0.12, 1))
    disc(pen, width * chance.uniform(0.3, 0.7), height * 0.4, height * 0.16, colour(0.07, 0.55, 1))
    for layer in range(7):
        base, phase = height * (0.42 + layer * 0.09), chance.uniform(0, 7)
        line = [
            (x, base + height * 0.025 * math.sin(x / width * 14 + phase))
            for x in range(0, width + 6, 6)
        ]
        shade = colour(hue + layer * 0.012, 0.35 + layer * 0.08, 0.95 - layer * 0.09)
        pen.polygon([*line, (width, height), (0, height)], fill=shade)


def leaf(pen, width, height, chance):
    hue = chance.uniform(0.18, 0.45)
    sky(pen, width, height, colour(hue - 0.1, 0.1, 0.99), colour(hue - 0.1, 0.18, 0.93))
    x, foot = width / 2 + chance.uniform(-0.08, 0.08) * width, height * 0.94
    pen.line((x, foot, x, height * 0.16), fill=colour(hue, 0.5, 0.4), width=round(width * 0.012))
    for pair in range(6):
        y = height * (0.8 - pair * 0.115)
        length = width * (0.24 - pair * 0.022)
        for side in (-1, 1):
            tip = (x + side * length, y - length * 0.55)
            bulge = length * 0.34
            middle = ((x + tip[0]) / 2, (y + tip[1]) / 2)
            outline = [
                (x, y),
                (middle[0] - side * bulge * 0.2, middle[1] - bulge * 0.75),
                tip,
                (middle[0] + side * bulge * 0.4, middle[1] + bulge * 0.5),
            ]
            shade = colour(hue + pair * 0.012, 0.55, 0.52 + pair * 0.06 + 0.05 * side)
            pen.polygon(outline, fill=shade)


def window(pen, width, height, chance):
    hue = chance.choice((0.02, 0.06, 0.1, 0.58, 0.62))
    sky(pen, width, height, colour(hue, 0.22, 0.9), colour(hue, 0.32, 0.78))
    columns, rows = chance.randint(3, 6), chance.randint(3, 4)
    step_x, step_y = width / columns, height / rows
    for row in range(rows):
        for column in range(columns):
            left, top = column * step_x + step_x * 0.2, row * step_y + step_y * 0.18
            lit = chance.random() < 0.4
            fill = colour(0.12, 0.5, 1) if lit else colour(0.62, 0.4, 0.36)
            box = (left, top, left + step_x * 0.6, top + step_y * 0.64)
            pen.rounded_rectangle(box, radius=step_x * 0.12, fill=fill)


def broken(side):
    """What stands in for a picture that cannot be read."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (side * FINER, side * FINER), (240, 238, 236))
    pen = ImageDraw.Draw(image)
    near, far, line = side * FINER * 0.4, side * FINER * 0.6, side * FINER // 40
    pen.line((near, near, far, far), fill=(150, 140, 136), width=line)
    pen.line((near, far, far, near), fill=(150, 140, 136), width=line)
    return image.resize((side, side), Image.Resampling.BOX)


DRAWN = {
    "hills": hills,
    "flower": flower,
    "planet": planet,
    "waves": waves,
    "leaf": leaf,
    "window": window,
}
