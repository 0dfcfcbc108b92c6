//! How a picture is brought to the size of its cell.

/// Ways to bring a picture into a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// All of it is visible; smaller pictures keep their size.
    #[default]
    Contain,
    /// The box is full; what stands over is cut off.
    Cover,
}

impl Fit {
    /// The size of what is shown of a picture of `source`: at most that of the box.
    pub fn shown(self, source: (u32, u32), cell: (u32, u32)) -> (u32, u32) {
        match self {
            Self::Contain => self.target(source, cell),
            Self::Cover => (cell.0.max(1), cell.1.max(1)),
        }
    }

    /// The part of a picture that is shown: how much is left out at the left and at the top, and
    /// the size of the rest. Only [`Fit::Cover`] leaves something out.
    pub fn part(self, source: (u32, u32), cell: (u32, u32)) -> ((u32, u32), (u32, u32)) {
        let part = match self {
            Self::Contain => source,
            Self::Cover => {
                let scaled = self.target(source, cell);
                let share = |length: u32, shown: u32, whole: u32| {
                    let share = f64::from(length) * f64::from(shown) / f64::from(whole.max(1));
                    (share.round() as u32).clamp(1, length.max(1))
                };
                (
                    share(source.0, cell.0, scaled.0),
                    share(source.1, cell.1, scaled.1),
                )
            }
        };
        let left_out = |whole: u32, part: u32| whole.saturating_sub(part) / 2;
        let offset = (left_out(source.0, part.0), left_out(source.1, part.1));
        (offset, part)
    }

    /// The size to resize a picture of `source` to. With [`Fit::Cover`] it is at least as large as
    /// the box in both directions; it is never 0.
    pub fn target(self, source: (u32, u32), cell: (u32, u32)) -> (u32, u32) {
        let (width, height) = (f64::from(source.0.max(1)), f64::from(source.1.max(1)));
        let across = f64::from(cell.0.max(1)) / width;
        let down = f64::from(cell.1.max(1)) / height;
        let factor = match self {
            Self::Contain => across.min(down).min(1.0),
            Self::Cover => across.max(down),
        };
        let scaled = |length: f64, limit: u32| {
            let rounded = (length * factor).round().max(1.0) as u32;
            match self {
                Self::Contain => rounded.min(limit.max(1)),
                Self::Cover => rounded.max(limit.max(1)),
            }
        };
        (scaled(width, cell.0), scaled(height, cell.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contained_pictures_fit_and_keep_their_proportions() {
        assert_eq!(Fit::Contain.target((4000, 3000), (128, 128)), (128, 96));
        assert_eq!(Fit::Contain.target((3000, 4000), (128, 128)), (96, 128));
        assert_eq!(Fit::Contain.target((50, 40), (128, 128)), (50, 40));
        assert_eq!(Fit::Contain.target((65535, 1), (128, 128)), (128, 1));
    }

    #[test]
    fn what_stands_over_is_cut_off_evenly() {
        assert_eq!(
            Fit::Cover.part((4000, 3000), (128, 128)),
            ((503, 0), (2994, 3000))
        );
        assert_eq!(Fit::Cover.part((65_535, 1), (128, 128)).1, (1, 1));
        assert_eq!(Fit::Contain.part((7, 5), (2, 2)), ((0, 0), (7, 5)));
    }

    #[test]
    fn covering_pictures_leave_nothing_free() {
        assert_eq!(Fit::Cover.target((4000, 3000), (128, 128)), (171, 128));
        assert_eq!(Fit::Cover.target((50, 40), (128, 128)), (160, 128));
    }
}
