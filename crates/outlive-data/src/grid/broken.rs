//! The cell of a picture that cannot be read: visible from far away by its colour and sign, and
//! with the reason where there is room for it.

use super::cells::CellView;
use super::text::{Area, Caption, fill};
use crate::picture::Colour;

const GROUND: Colour = Colour([253, 226, 224]);
const SIGN: Colour = Colour([198, 61, 52]);
const LETTERS: Colour = Colour([110, 30, 26]);
/// Height of a line of the reason.
const LINE: u32 = 12;
/// Cells that are smaller have no room for words.
const SMALLEST: (u32, u32) = (56, 48);
const MOST_LINES: u32 = 3;

/// Draws it over the upper `height` rows of a cell: all of it but the strip for the caption.
pub fn draw(view: &mut CellView<'_>, height: u32, reason: &str) {
    let area = Area {
        left: 0,
        top: 0,
        width: view.width(),
        height: height.min(view.height()),
    };
    fill(view, area, GROUND);
    let lines = if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        Vec::new()
    } else {
        wrapped(
            reason,
            area.width - 8,
            (area.height / 3 / LINE).min(MOST_LINES),
        )
    };
    let words = lines.len() as u32 * LINE;
    draw_cross(
        view,
        Area {
            height: area.height - words,
            ..area
        },
    );
    let mut caption = Caption::new(LINE);
    for (number, line) in lines.iter().enumerate() {
        let place = Area {
            left: 4,
            top: area.height - words - 2 + number as u32 * LINE,
            width: area.width - 8,
            height: LINE,
        };
        caption.draw_line(view, place, line, LETTERS);
    }
}

/// A cross in the middle of an area.
fn draw_cross(view: &mut CellView<'_>, area: Area) {
    let side = area.width.min(area.height) / 2;
    let thickness = (side / 8).max(1);
    let left = area.left + (area.width - side) / 2;
    let top = area.top + (area.height - side) / 2;
    for step in 0..side {
        for at in [step, side - 1 - step] {
            let dot = Area {
                left: (left + at).saturating_sub(thickness / 2),
                top: top + step,
                width: thickness,
                height: 1,
            };
            fill(view, dot, SIGN);
        }
    }
}

/// A text in at most so many lines, broken between words; the last keeps the rest.
fn wrapped(text: &str, width: u32, most: u32) -> Vec<String> {
    let mut caption = Caption::new(LINE);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace().take(64) {
        let is_last = lines.len() as u32 == most;
        match lines.last_mut() {
            Some(line) if is_last || caption.width(&format!("{line} {word}")) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ if most > 0 => lines.push(word.to_owned()),
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: u32, height: u32, upper: u32, reason: &str) -> Vec<u8> {
        let stride = width as usize * 3;
        let mut pixels = vec![255; stride * height as usize];
        let mut view = CellView::new(&mut pixels, stride, width, height).unwrap();
        draw(&mut view, upper, reason);
        pixels
    }

    #[test]
    fn it_is_red_has_a_sign_and_leaves_the_caption_alone() {
        let pixels = drawn(128, 150, 128, "The file is cut off");
        let (upper, strip) = pixels.split_at(128 * 3 * 128);
        assert!(strip.iter().all(|part| *part == 255));
        let count = |Colour(colour)| upper.chunks(3).filter(|pixel| **pixel == colour).count();
        assert!(count(GROUND) > 128 * 128 / 2);
        assert!(count(SIGN) > 200);
        assert!(pixels != drawn(128, 150, 128, "The file is empty"));
    }

    #[test]
    fn any_size_and_any_reason_are_drawn() {
        for size in [1, 2, 7, 30, 56, 64, 300] {
            for reason in [
                "",
                "short",
                "\n\n",
                &"long ".repeat(1000),
                &"x".repeat(5000),
            ] {
                drawn(size, size, size, reason);
                drawn(size, 2 * size, size / 2, reason);
                drawn(size, size, 5 * size, reason);
            }
        }
    }

    #[test]
    fn a_reason_is_broken_between_words() {
        assert_eq!(wrapped("", 100, 3), Vec::<String>::new());
        assert_eq!(wrapped("one", 100, 0), Vec::<String>::new());
        let lines = wrapped(
            "The header says 40000 x 40000 pixels, the limit is 100",
            110,
            3,
        );
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines.join(" "),
            "The header says 40000 x 40000 pixels, the limit is 100"
        );
    }
}
