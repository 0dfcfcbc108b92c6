//! Text on cells: captions in the strip below a picture, in an embedded font of Latin, Greek and
//! Cyrillic letters. Text that is too long loses its middle, letters that the font lacks are
//! boxes, and nothing here fails.

use std::collections::HashMap;

use ab_glyph::{Font, FontRef, ScaleFont};

use super::cells::CellView;
use crate::picture::Colour;

/// `DejaVu Sans`, cut down to the letters named above; its licence lies beside it.
static FONT: &[u8] = include_bytes!("../../assets/font/DejaVuSans-subset.ttf");
/// How much of the height of a line the letters take, from the top of `É` to the bottom of `g`.
const LETTERS: f32 = 0.86;
/// The pen moves in parts of a pixel, so that letters stand as far apart as they should.
const PARTS: u32 = 64;
/// Letters that are kept drawn. More than a script of Europe has.
const KEPT: usize = 512;
/// Letters of a text that are looked at; more than fit on any cell.
const LONGEST: usize = 4096;
const ELLIPSIS: char = '…';
/// Shown for a letter that the font lacks.
const BOX: char = '□';

/// Colours of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    /// Of the letters.
    pub letters: Colour,
    /// Of the strip they stand on; none to leave it as it is.
    pub ground: Option<Colour>,
}

/// A part of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// From the left of the cell.
    pub left: u32,
    /// From its top.
    pub top: u32,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

/// Draws lines of one height.
#[derive(Debug)]
pub struct Caption {
    height: u32,
    font: Option<FontRef<'static>>,
    glyphs: HashMap<char, Glyph>,
}

/// A letter, drawn.
#[derive(Clone, Debug, Default)]
struct Glyph {
    /// From this letter to the next, in parts of a pixel.
    advance: u32,
    /// From the pen to the first column.
    left: i32,
    /// From the top of the line to the first row.
    top: i32,
    width: usize,
    /// How much of each pixel is covered, row after row.
    coverage: Vec<u8>,
}

impl Default for Ink {
    fn default() -> Self {
        Self {
            letters: Colour([40; 3]),
            ground: None,
        }
    }
}

impl Caption {
    /// For lines of this height.
    pub fn new(height: u32) -> Self {
        Self {
            height,
            font: FontRef::try_from_slice(FONT).ok(),
            glyphs: HashMap::new(),
        }
    }

    /// Draws a text in the lowest strip of a cell, in its middle if it is shorter.
    pub fn draw(&mut self, view: &mut CellView<'_>, text: &str, ink: Ink) {
        let height = self.height.min(view.height());
        let area = Area {
            left: 0,
            top: view.height() - height,
            width: view.width(),
            height,
        };
        if let Some(ground) = ink.ground {
            fill(view, area, ground);
        }
        let margin = (self.height / 8).min(area.width / 8);
        let line = Area {
            left: margin,
            width: area.width - 2 * margin,
            ..area
        };
        self.draw_line(view, line, text, ink.letters);
    }

    /// Draws a text in the middle of an area, with its middle left out if it is too long.
    pub fn draw_line(&mut self, view: &mut CellView<'_>, area: Area, text: &str, ink: Colour) {
        let letters = self.fitting(text, area.width);
        let width = self.width_of(&letters);
        let Some(rest) = parts(area.width).checked_sub(width) else {
            return;
        };
        let mut pen = parts(area.left) + rest / 2;
        for letter in letters {
            let glyph = self.glyph(letter);
            let place = (pen + u64::from(PARTS / 2)) / u64::from(PARTS);
            glyph.draw(view, area, place as u32, ink);
            pen += u64::from(glyph.advance);
        }
    }

    /// Width of a text, nothing left out.
    pub fn width(&mut self, text: &str) -> u32 {
        let letters: Vec<char> = text.chars().filter_map(shown).take(LONGEST).collect();
        let width = self.width_of(&letters).div_ceil(u64::from(PARTS));
        u32::try_from(width).unwrap_or(u32::MAX)
    }

    fn width_of(&mut self, letters: &[char]) -> u64 {
        letters.iter().map(|letter| self.advance(*letter)).sum()
    }

    /// The letters of a text, or as many from both its ends as fit.
    fn fitting(&mut self, text: &str, width: u32) -> Vec<char> {
        let mut head: Vec<char> = text.chars().filter_map(shown).take(LONGEST).collect();
        if head.len() < LONGEST && self.width(text) <= width {
            return head;
        }
        let tail: Vec<char> = text
            .chars()
            .rev()
            .filter_map(shown)
            .take(head.len())
            .collect();
        let mut left = parts(width).saturating_sub(self.advance(ELLIPSIS));
        let (mut first, mut last) = (0, 0);
        // One from the front, one from the back, until neither fits.
        loop {
            let before = (first, last);
            for (letters, count) in [(&head, &mut first), (&tail, &mut last)] {
                let advance = letters.get(*count).map(|letter| self.advance(*letter));
                if let Some(rest) = advance.and_then(|advance| left.checked_sub(advance)) {
                    left = rest;
                    *count += 1;
                }
            }
            if before == (first, last) {
                break;
            }
        }
        head.truncate(first);
        head.push(ELLIPSIS);
        head.extend(tail.iter().take(last).rev());
        head
    }

    fn advance(&mut self, letter: char) -> u64 {
        u64::from(self.glyph(letter).advance)
    }

    fn glyph(&mut self, letter: char) -> &Glyph {
        if self.glyphs.len() >= KEPT && !self.glyphs.contains_key(&letter) {
            self.glyphs.clear();
        }
        let (font, height) = (&self.font, self.height);
        self.glyphs.entry(letter).or_insert_with(|| {
            let font = font.as_ref();
            font.map_or_else(Glyph::default, |font| Glyph::new(font, height, letter))
        })
    }
}

impl Glyph {
    fn new(font: &FontRef<'static>, height: u32, letter: char) -> Self {
        let font = font.as_scaled(height as f32 * LETTERS);
        let mut id = font.glyph_id(letter);
        if id.0 == 0 {
            id = font.glyph_id(BOX);
        }
        let advance = (font.h_advance(id) * PARTS as f32).round().max(1.0) as u32;
        let blank = Self {
            advance,
            ..Self::default()
        };
        let Some(outline) = font.outline_glyph(id.with_scale(font.scale())) else {
            return blank;
        };
        let bounds = outline.px_bounds();
        let (width, rows) = (bounds.width() as usize, bounds.height() as usize);
        let mut coverage = vec![0; width * rows];
        outline.draw(|x, y, covered| {
            if let Some(byte) = coverage.get_mut(y as usize * width + x as usize) {
                *byte = (covered * 255.0).clamp(0.0, 255.0) as u8;
            }
        });
        let baseline = (height as f32 - font.height()).mul_add(0.5, font.ascent());
        Self {
            left: bounds.min.x as i32,
            top: (baseline + bounds.min.y).round() as i32,
            width,
            coverage,
            ..blank
        }
    }

    /// Draws the letter with the pen at `pen`, and nothing outside the area.
    fn draw(&self, view: &mut CellView<'_>, area: Area, pen: u32, ink: Colour) {
        let left = i64::from(pen) + i64::from(self.left);
        for (y, coverage) in self.coverage.chunks(self.width.max(1)).enumerate() {
            let y = i64::from(self.top) + y as i64;
            if y < 0 || y >= i64::from(area.height) {
                continue;
            }
            let row = view.row_mut(area.top + y as u32);
            for (x, covered) in coverage.iter().enumerate() {
                let x = left + x as i64;
                let is_inside =
                    x >= i64::from(area.left) && x < i64::from(area.left) + i64::from(area.width);
                if is_inside && let Some(pixel) = row.get_mut(x as usize * 3..x as usize * 3 + 3) {
                    blend(pixel, ink, *covered);
                }
            }
        }
    }
}

/// Pixels in parts of them.
fn parts(pixels: u32) -> u64 {
    u64::from(pixels) * u64::from(PARTS)
}

/// Puts a colour on a pixel that is covered by so many 255ths.
fn blend(pixel: &mut [u8], Colour(ink): Colour, covered: u8) {
    for (part, ink) in pixel.iter_mut().zip(ink) {
        let (old, new, share) = (u32::from(*part), u32::from(ink), u32::from(covered));
        *part = ((old * (255 - share) + new * share + 127) / 255) as u8;
    }
}

/// Paints an area of a cell.
pub(super) fn fill(view: &mut CellView<'_>, area: Area, Colour(colour): Colour) {
    let end = area.top.saturating_add(area.height).min(view.height());
    for y in area.top..end {
        let row = view.row_mut(y).chunks_exact_mut(3);
        for pixel in row.skip(area.left as usize).take(area.width as usize) {
            pixel.copy_from_slice(&colour);
        }
    }
}

/// A letter as it is shown: none for marks without width, a space for what would break the line.
fn shown(letter: char) -> Option<char> {
    match letter {
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{300}'..='\u{36f}' => None,
        letter if letter.is_control() || letter.is_whitespace() => Some(' '),
        letter => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: Ink = Ink {
        letters: Colour([0; 3]),
        ground: None,
    };

    fn drawn(width: u32, height: u32, strip: u32, text: &str) -> Vec<u8> {
        let stride = width as usize * 3;
        let mut pixels = vec![255; stride * height as usize];
        let mut view = CellView::new(&mut pixels, stride, width, height).unwrap();
        Caption::new(strip).draw(&mut view, text, BLACK);
        pixels
    }

    fn dark(pixels: &[u8]) -> usize {
        pixels.iter().filter(|part| **part < 128).count()
    }

    #[test]
    fn text_is_drawn_in_the_strip_and_only_there() {
        let pixels = drawn(100, 60, 14, "Ég Яя αβ");
        let (above, strip) = pixels.split_at(100 * 3 * 46);
        assert_eq!(dark(above), 0);
        assert!(dark(strip) > 300, "{}", dark(strip));
    }

    #[test]
    fn a_long_text_keeps_both_ends() {
        let mut caption = Caption::new(16);
        let text = format!("begin{}end.jpg", "x".repeat(500));
        let letters: String = caption.fitting(&text, 130).into_iter().collect();
        assert!(letters.starts_with("begin"), "{letters}");
        assert!(letters.ends_with("end.jpg"), "{letters}");
        assert_eq!(letters.matches(ELLIPSIS).count(), 1);
        assert!(caption.width(&letters) <= 130);
        let letters: String = caption.fitting("short", 120).into_iter().collect();
        assert_eq!(letters, "short");
    }

    #[test]
    fn letters_that_the_font_lacks_are_boxes() {
        assert!(drawn(60, 20, 20, "漢") == drawn(60, 20, 20, "\u{25a1}"));
        assert!(dark(&drawn(60, 20, 20, "漢")) > 30);
    }

    #[test]
    fn nothing_panics_and_the_cache_stays_small() {
        let mut texts: Vec<String> = ["", "\n\t\r", "\u{200b}\u{feff}", "\u{202e}abc", "ﷺ🦀"]
            .map(str::to_owned)
            .to_vec();
        texts.push("\u{10ffff}".repeat(100_000));
        for text in texts {
            for (width, height, strip) in [(1, 1, 1), (1, 1, 300), (3, 40, 12), (500, 9, 9)] {
                drawn(width, height, strip, &text);
            }
            drawn(30, 30, 0, &text);
        }
        let mut caption = Caption::new(10);
        for letter in '\0'..='\u{3000}' {
            caption.width(&letter.to_string());
        }
        assert!(caption.glyphs.len() <= KEPT);
    }
}
