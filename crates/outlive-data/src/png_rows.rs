//! A PNG that is written row by row, so that it can be larger than memory. Files only: where the
//! rows come from is not known here.

use std::io::{self, Write};

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, StreamWriter};

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngRowsError {
    /// A PNG has one to four channels of 8 bits.
    #[error("A PNG has 1 to 4 channels, not {channels}")]
    Channels {
        /// How many were asked for.
        channels: u8,
    },
    /// The size is zero or more than the format can say, or rows are missing or too many.
    #[error("No valid PNG: {0}")]
    Form(String),
    /// What it is written to failed.
    #[error(transparent)]
    Output(io::Error),
}

/// A PNG that is being written.
pub struct PngRows<W: Write + 'static> {
    stream: StreamWriter<'static, W>,
    missing: u64,
}

impl<W: Write + 'static> PngRows<W> {
    /// Writes the head of a picture of 8 bits a channel: grey, grey and alpha, colours, or colours
    /// and alpha.
    pub fn begin(output: W, width: u32, height: u32, channels: u8) -> Result<Self, PngRowsError> {
        let colour = match channels {
            1 => ColorType::Grayscale,
            2 => ColorType::GrayscaleAlpha,
            3 => ColorType::Rgb,
            4 => ColorType::Rgba,
            _ => return Err(PngRowsError::Channels { channels }),
        };
        let mut encoder = Encoder::new(output, width, height);
        encoder.set_color(colour);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Balanced);
        let stream = encoder
            .write_header()
            .and_then(png::Writer::into_stream_writer)
            .map_err(from_encoding)?;
        let missing = u64::from(width) * u64::from(height) * u64::from(channels);
        Ok(Self { stream, missing })
    }

    /// Writes more pixels; they need not be whole rows.
    pub fn write(&mut self, pixels: &[u8]) -> Result<(), PngRowsError> {
        let length = pixels.len() as u64;
        self.missing = self.missing.checked_sub(length).ok_or_else(|| {
            PngRowsError::Form(format!("{length} bytes for {} that are left", self.missing))
        })?;
        self.stream.write_all(pixels).map_err(PngRowsError::Output)
    }

    /// Writes the end. A picture that is not complete is refused.
    pub fn finish(self) -> Result<(), PngRowsError> {
        if self.missing > 0 {
            let message = format!("{} bytes are missing", self.missing);
            return Err(PngRowsError::Form(message));
        }
        self.stream.finish().map_err(from_encoding)
    }
}

impl<W: Write + 'static> std::fmt::Debug for PngRows<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PngRows")
            .field("missing", &self.missing)
            .finish_non_exhaustive()
    }
}

fn from_encoding(error: EncodingError) -> PngRowsError {
    match error {
        EncodingError::IoError(error) => PngRowsError::Output(error),
        other => PngRowsError::Form(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::Cursor;
    use std::rc::Rc;

    use super::*;

    /// What was written stays readable after the writer is gone.
    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn rows_come_back_as_they_were_written() {
        for channels in 1..=4_u8 {
            let pixels: Vec<u8> = (0..7 * 5 * u32::from(channels)).map(|n| n as u8).collect();
            let output = Shared::default();
            let mut rows = PngRows::begin(output.clone(), 7, 5, channels).unwrap();
            for part in pixels.chunks(11) {
                rows.write(part).unwrap();
            }
            rows.finish().unwrap();
            let bytes = output.0.borrow().clone();
            let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
            let mut found = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut found).unwrap();
            assert_eq!((info.width, info.height), (7, 5));
            assert_eq!(found, pixels);
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let begin = |width, height, channels| PngRows::begin(io::sink(), width, height, channels);
        assert!(matches!(
            begin(1, 1, 5),
            Err(PngRowsError::Channels { channels: 5 })
        ));
        assert!(matches!(begin(0, 1, 3), Err(PngRowsError::Form(_))));
        let mut rows = begin(2, 2, 1).unwrap();
        rows.write(&[1, 2, 3]).unwrap();
        assert!(matches!(rows.write(&[4, 5]), Err(PngRowsError::Form(_))));
        assert!(matches!(rows.finish(), Err(PngRowsError::Form(_))));
    }

    #[test]
    fn a_full_disk_is_an_error_of_the_output() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let failed = PngRows::begin(Full, 1, 1, 1).unwrap_err();
        assert!(matches!(failed, PngRowsError::Output(_)));
    }
}
