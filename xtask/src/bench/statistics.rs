//! Medians and how sure they are.

/// How many resamples the bootstrap draws: enough for two stable digits of a 95 % interval.
const RESAMPLES: usize = 4_000;

/// Fewer values than this have a range, but no interval that means anything.
const FEWEST: usize = 5;

/// A median with its 95 % interval, or the range where there are too few values for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// The middle value.
    pub(crate) median: f64,
    /// Lower end of the interval.
    pub(crate) low: f64,
    /// Upper end of the interval.
    pub(crate) high: f64,
    /// How many values it rests on.
    pub(crate) count: usize,
}

/// What an estimate says about a goal that is an upper limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The whole interval is within the goal.
    Met,
    /// The whole interval is beyond the goal.
    NotMet,
    /// The goal lies inside the interval, or there are too few rounds: more of them, or a quieter
    /// machine, are needed.
    NotResolved,
}

impl Estimate {
    /// The median of `values` and a percentile bootstrap of it. `None` without values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let median = median_of(values)?;
        // The same seed every time: a table made twice from the same runs is the same table.
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut medians: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let drawn: Vec<f64> = (0..values.len())
                    .filter_map(|_| values.get(random.below(values.len())).copied())
                    .collect();
                median_of(&drawn)
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let cut = if values.len() < FEWEST {
            0
        } else {
            RESAMPLES / 40
        };
        let low = *medians.get(cut)?;
        let high = *medians.get(RESAMPLES - 1 - cut)?;
        Some(Self {
            median,
            low,
            high,
            count: values.len(),
        })
    }

    /// Width of the interval; infinite where there is none.
    pub(crate) fn width(&self) -> f64 {
        if self.count < FEWEST {
            f64::INFINITY
        } else {
            self.high - self.low
        }
    }

    /// Whether an upper limit is kept.
    pub(crate) fn verdict(&self, limit: f64) -> Verdict {
        if self.count < FEWEST {
            Verdict::NotResolved
        } else if self.high <= limit {
            Verdict::Met
        } else if self.low > limit {
            Verdict::NotMet
        } else {
            Verdict::NotResolved
        }
    }
}

impl Verdict {
    /// In words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::NotResolved => "not resolved",
        }
    }
}

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median_of(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some(f64::midpoint(lower, upper))
}

/// `SplitMix64`: small, good enough for drawing indices, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median_of(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median_of(&[]), None);
    }

    #[test]
    fn one_outlier_moves_neither_the_median_nor_the_interval_far() {
        let mut ratios = vec![1.01; 20];
        ratios.push(9.0);
        let estimate = Estimate::of(&ratios).unwrap();
        assert_eq!((estimate.median, estimate.high), (1.01, 1.01));
    }

    #[test]
    fn the_interval_of_normal_noise_has_the_width_that_theory_gives() {
        // Twelve uniform values sum to a nearly normal one of standard deviation 1. The median of
        // n such values has standard error 1.2533/√n, so the interval is 3.92 times that: 0.246.
        let mut random = Random(7);
        let mut normal = || {
            (0..12)
                .map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20))
                .sum()
        };
        let values: Vec<f64> = (0..400).map(|_| normal()).collect();
        let estimate = Estimate::of(&values).unwrap();
        assert!((5.8..6.2).contains(&estimate.median), "{estimate:?}");
        assert!((0.16..0.36).contains(&estimate.width()), "{estimate:?}");
    }

    #[test]
    fn a_goal_inside_the_interval_is_not_resolved() {
        let estimate = Estimate {
            median: 1.01,
            low: 1.0,
            high: 1.02,
            count: 9,
        };
        assert_eq!(estimate.verdict(1.02), Verdict::Met);
        assert_eq!(estimate.verdict(1.015), Verdict::NotResolved);
        assert_eq!(estimate.verdict(0.99), Verdict::NotMet);
    }

    #[test]
    fn too_few_values_are_never_narrow_enough_and_decide_nothing() {
        let estimate = Estimate::of(&[1.0, 1.0, 1.0]).unwrap();
        assert!(estimate.width().is_infinite());
        assert_eq!(estimate.verdict(2.0), Verdict::NotResolved);
    }
}
