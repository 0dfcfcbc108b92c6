//! libjpeg-turbo is the judge: what is decoded here is what it decodes, to the last bit, and what it
//! calls damaged is not decoded here.

#![cfg(feature = "turbo")]

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use proptest::prelude::*;
use turbojpeg::{Compressor, Image, PixelFormat, Subsamp};

use super::layout::Layout;
use crate::decode::jpeg::{Decoder, Frame};
use crate::picture::Picture;
use crate::window::Window;

/// Numbers without order, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Slopes, edges and noise, in colours.
fn picture(width: usize, height: usize, noise: u8, seed: u64) -> Vec<u8> {
    let mut random = Random(seed | 1);
    let mut pixels = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let edge = if (x / 37 + y / 23) % 3 == 0 { 90 } else { 0 };
            let slopes = [x * 255 / width, y * 255 / height, (x + y * 2) % 256];
            for slope in slopes {
                let noise = random.below(usize::from(noise) + 1);
                pixels.push((slope + edge + noise).min(255) as u8);
            }
        }
    }
    pixels
}

/// What libjpeg-turbo makes of it at an eighth.
fn judged(file: &[u8]) -> Option<Picture> {
    let frame = Frame::read(file).ok()?;
    let target = eighth(&frame);
    Decoder::default().decode(file, target).ok()
}

fn eighth(frame: &Frame) -> (u32, u32) {
    (frame.width.div_ceil(8), frame.height.div_ceil(8))
}

fn ours(file: &[u8]) -> Option<Picture> {
    let frame = Frame::read(file).ok()?;
    let stored = (frame.width, frame.height);
    let mut whole = file;
    let (mut large, mut small) = (Vec::new(), Vec::new());
    let at_once = super::decode(Window::new(file.len() + 1, &mut large, &mut whole)?, stored);
    // The smallest window in which the segments are, and a unit.
    let segments = Layout::read(file).map_or(0, |layout| layout.scan);
    let mut pieces = Pieces(file);
    let window = Window::new(segments.max(super::UNIT_BYTES), &mut small, &mut pieces)?;
    assert!(super::decode(window, stored) == at_once);
    at_once
}

/// A file that comes in small pieces.
struct Pieces<'file>(&'file [u8]);

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let piece = room.len().min(1000);
        self.0.read(&mut room[..piece])
    }
}

#[track_caller]
fn assert_same(file: &[u8]) {
    let (ours, judged) = (ours(file), judged(file));
    assert!(ours.is_some() && judged.is_some());
    assert!(ours == judged, "{:?}", ours.map(|ours| ours.width()));
}

fn by_turbo(
    size: (usize, usize),
    pixels: &[u8],
    subsamp: Subsamp,
    quality: i32,
    optimize: bool,
) -> Vec<u8> {
    let mut compressor = Compressor::new().unwrap();
    compressor.set_quality(quality).unwrap();
    compressor.set_subsamp(subsamp).unwrap();
    compressor.set_optimize(optimize).unwrap();
    let image = Image {
        pixels,
        width: size.0,
        pitch: size.0 * 3,
        height: size.1,
        format: PixelFormat::RGB,
    };
    compressor.compress_to_vec(image).unwrap()
}

/// `None` is grey.
fn by_encoder(
    size: (usize, usize),
    pixels: &[u8],
    sampling: Option<SamplingFactor>,
    quality: u8,
    restart_interval: u16,
) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, quality);
    encoder.set_restart_interval(restart_interval);
    let (width, height) = (size.0 as u16, size.1 as u16);
    if let Some(sampling) = sampling {
        encoder.set_sampling_factor(sampling);
        encoder
            .encode(pixels, width, height, ColorType::Rgb)
            .unwrap();
    } else {
        let grey: Vec<u8> = pixels.iter().copied().step_by(3).collect();
        encoder
            .encode(&grey, width, height, ColorType::Luma)
            .unwrap();
    }
    file
}

const SUBSAMPS: [Subsamp; 5] = [
    Subsamp::None,
    Subsamp::Sub2x1,
    Subsamp::Sub1x2,
    Subsamp::Sub2x2,
    Subsamp::Gray,
];
const SAMPLINGS: [Option<SamplingFactor>; 5] = [
    Some(SamplingFactor::F_1_1),
    Some(SamplingFactor::F_2_1),
    Some(SamplingFactor::F_1_2),
    Some(SamplingFactor::F_2_2),
    None,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pixels_are_those_of_libjpeg_turbo(
        size in (1_usize..700, 1_usize..700),
        (sampling, seed) in (0_usize..5, any::<u64>()),
        (quality, noise) in (5_u8..=100, prop_oneof![Just(0_u8), Just(12), Just(255)]),
        optimize in any::<bool>(),
        restart_interval in prop_oneof![Just(0_u16), 1_u16..40, 1_u16..2000],
    ) {
        let pixels = picture(size.0, size.1, noise, seed);
        let file = by_turbo(size, &pixels, SUBSAMPS[sampling], quality.into(), optimize);
        assert_same(&file);
        let file = by_encoder(size, &pixels, SAMPLINGS[sampling], quality, restart_interval);
        assert_same(&file);
    }
}

/// Small files of every kind.
fn small_files() -> Vec<Vec<u8>> {
    let size = (27, 19);
    let mut files = Vec::new();
    for (index, noise) in [(0, 12), (1, 0), (2, 255), (3, 12), (3, 255), (4, 60)] {
        let pixels = picture(size.0, size.1, noise, 77);
        for quality in [25, 97] {
            let subsamp = SUBSAMPS[index];
            files.push(by_turbo(
                size,
                &pixels,
                subsamp,
                quality.into(),
                quality > 50,
            ));
            files.push(by_encoder(size, &pixels, SAMPLINGS[index], quality, 3));
        }
    }
    files
}

#[test]
fn a_file_that_is_cut_anywhere_is_not_decoded_here() {
    for file in small_files().into_iter().step_by(2) {
        assert!(ours(&file).is_some());
        for length in 0..file.len() {
            assert!(ours(&file[..length]).is_none(), "{length}");
        }
    }
}

/// The same as the judge, unless it is left to him.
#[track_caller]
fn assert_judged(file: &[u8], decoded: &mut usize) {
    let bounded = Frame::read(file).is_ok_and(|frame| frame.width * frame.height < 1 << 22);
    if !bounded {
        return;
    }
    if let Some(ours) = ours(file) {
        *decoded += 1;
        assert!(Some(ours) == judged(file), "{:02x?}", &file[..40]);
    }
}

#[test]
fn damage_is_judged_by_libjpeg_turbo() {
    let files = small_files();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut decoded = 0;
    for round in 0..MUTATIONS {
        let mut file = files[round % files.len()].clone();
        match round / files.len() % 4 {
            0 | 1 => {
                let bit = random.below(file.len() * 8);
                file[bit / 8] ^= 1 << (bit % 8);
            }
            2 => {
                for _ in 0..=random.below(6) {
                    let at = random.below(file.len());
                    // Bytes that mean something more often than by chance.
                    file[at] = *[0xff, 0, 0xd0, 0xd9, random.next() as u8]
                        .get(random.below(5))
                        .unwrap();
                }
            }
            _ => {
                let at = random.below(file.len());
                let end = (at + random.below(5)).min(file.len());
                let new: Vec<u8> = (0..random.below(5)).map(|_| random.next() as u8).collect();
                file.splice(at..end, new);
            }
        }
        assert_judged(&file, &mut decoded);
    }
    // Most changes of a bit make another picture; others are found out.
    assert!(decoded > MUTATIONS / 20, "{decoded}");
}

const MUTATIONS: usize = 6000;

#[test]
fn restarts_are_in_order_and_nothing_stands_before_them() {
    let pixels = picture(64, 64, 12, 5);
    let file = by_encoder((64, 64), &pixels, SAMPLINGS[0], 90, 5);
    assert_same(&file);
    let restarts: Vec<usize> = (0..file.len() - 1)
        .filter(|&at| file[at] == 0xff && (0xd0..=0xd7).contains(&file[at + 1]))
        .collect();
    assert!(restarts.len() > 8);
    for at in restarts {
        let mut other = file.clone();
        other[at + 1] ^= 1;
        assert!(ours(&other).is_none());
        let mut longer = file.clone();
        longer.insert(at, 0);
        assert!(ours(&longer).is_none());
        // Any number of 0xff may stand before a marker.
        let mut filled = file.clone();
        filled.insert(at, 0xff);
        assert_same(&filled);
        let mut missing = file.clone();
        missing.drain(at..at + 2);
        assert!(ours(&missing).is_none());
    }
}

#[test]
fn what_follows_many_fill_bytes_is_read_before_it_is_used() {
    let pixels = picture(160, 160, 255, 5);
    let file = by_encoder((160, 160), &pixels, SAMPLINGS[0], 95, 5);
    let mut pairs = file.windows(2);
    let restart = pairs.position(|pair| pair == [0xff, 0xd0]).unwrap();
    assert!(file.len() > restart + 2 * super::UNIT_BYTES);
    // The marker comes to lie at the end of the smallest window.
    for fill in super::UNIT_BYTES - 40..super::UNIT_BYTES - 2 {
        let mut filled = file.clone();
        filled.splice(restart..restart, std::iter::repeat_n(0xff, fill));
        assert_same(&filled);
    }
}

#[test]
fn what_stands_before_the_end_is_left_to_libjpeg_turbo() {
    let pixels = picture(64, 64, 12, 5);
    let file = by_encoder((64, 64), &pixels, SAMPLINGS[3], 90, 0);
    let end = file.len() - 2;
    for extra in [&[0][..], &[0x12, 0x34], &[0xff, 0], &[0xff, 0xd0]] {
        let mut longer = file.clone();
        longer.splice(end..end, extra.iter().copied());
        assert!(ours(&longer).is_none());
    }
    // What follows the end is nobody's business.
    let mut longer = file;
    longer.extend([1, 2, 3]);
    assert_same(&longer);
}

#[test]
fn other_kinds_are_left_to_libjpeg_turbo() {
    let pixels = picture(64, 64, 12, 5);
    let file = |set: fn(&mut Encoder<&mut Vec<u8>>), colours| {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, 90);
        set(&mut encoder);
        encoder
            .encode(&pixels[..48 * 64 * 3], 48, 64, colours)
            .unwrap();
        file
    };
    let progressive = file(|encoder| encoder.set_progressive(true), ColorType::Rgb);
    let scans = file(
        |encoder| encoder.set_optimized_huffman_tables(true),
        ColorType::Rgb,
    );
    let odd = file(
        |encoder| encoder.set_sampling_factor(SamplingFactor::F_4_1),
        ColorType::Rgb,
    );
    for file in [progressive, scans, odd] {
        assert!(ours(&file).is_none());
        assert!(judged(&file).is_some());
    }
}

#[test]
fn grey_is_grey_whatever_its_sampling() {
    let pixels = picture(75, 43, 12, 5);
    let file = by_encoder((75, 43), &pixels, None, 90, 0);
    let frame = file
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .unwrap();
    for sampling in [0x11, 0x12, 0x21, 0x22] {
        let mut other = file.clone();
        other[frame + 11] = sampling;
        assert_same(&other);
    }
}
