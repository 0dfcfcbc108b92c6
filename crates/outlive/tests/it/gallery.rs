//! A folder of pictures, and `outlive grid` in it.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::context::stderr;

pub(crate) type Colour = [u8; 3];

pub(crate) const RED: Colour = [200, 0, 0];
pub(crate) const GREEN: Colour = [0, 200, 0];
pub(crate) const BLUE: Colour = [0, 0, 200];
pub(crate) const WHITE: Colour = [255; 3];

pub(crate) struct Gallery {
    folder: TempDir,
}

/// A PNG, decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pixels: Vec<u8>,
}

impl Gallery {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, bytes).unwrap();
    }

    /// A PNG of one colour.
    pub(crate) fn picture(&self, path: impl AsRef<Path>, width: u32, height: u32, colour: Colour) {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        let pixels = colour.repeat(width as usize * height as usize);
        writer.write_image_data(&pixels).unwrap();
        writer.finish().unwrap();
        self.write(path, &bytes);
    }

    /// Many names of a few pictures, cheap to make.
    pub(crate) fn crowd(&self, folder: &str, count: usize) {
        let colours = [RED, GREEN, BLUE];
        for (number, colour) in colours.into_iter().enumerate() {
            self.picture(format!("{number}.original"), 90, 90, colour);
        }
        fs_err::create_dir_all(self.path(folder)).unwrap();
        for number in 0..count {
            let original = self.path(format!("{}.original", number % 3));
            let name = self.path(folder).join(format!("{number}.png"));
            fs_err::hard_link(original, name).unwrap();
        }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outlive"));
        command
            .arg("grid")
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn grid(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The same, which must end with 0; its summary.
    pub(crate) fn summary(&self, arguments: &[&str]) -> Value {
        let output = self.grid(&[arguments, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn sheet(&self, path: &str) -> Sheet {
        Sheet::read(&self.path(path))
    }
}

impl Sheet {
    pub(crate) fn read(path: &Path) -> Self {
        let decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        Self {
            width: reader.info().width,
            height: reader.info().height,
            pixels,
        }
    }

    pub(crate) fn pixel(&self, x: u32, y: u32) -> Colour {
        let start = (y as usize * self.width as usize + x as usize) * 3;
        self.pixels[start..start + 3].try_into().unwrap()
    }

    /// How many pixels of a part have another colour.
    pub(crate) fn others(
        &self,
        (left, top): (u32, u32),
        (width, height): (u32, u32),
        colour: Colour,
    ) -> usize {
        let rows = top..top + height;
        let pixels = rows.flat_map(|y| (left..left + width).map(move |x| (x, y)));
        pixels.filter(|(x, y)| self.pixel(*x, *y) != colour).count()
    }
}
