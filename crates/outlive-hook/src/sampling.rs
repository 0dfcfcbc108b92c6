//! Poisson sampling of bytes: every byte asked for has the same small chance to be looked at.
//!
//! The distance to the next sampled byte is drawn from an exponential distribution. A request of
//! `size` bytes is hit with probability `1 − e^(−size/mean)`; a hit request stands for
//! `size / (1 − e^(−size/mean))` bytes, which makes every sum unbiased.
//!
//! Logarithm and exponential are written out, since the library links no mathematics.

/// Requests of at least this size are recorded one by one (until tables fill up). Filling so much
/// memory once takes some ten times as long as recording it.
pub const EXACT_FROM: usize = 128 << 10;
/// Mean number of bytes between two samples of smaller requests.
pub const SAMPLE_MEAN: u64 = 512 << 10;

/// A small generator of random words (xorshift), one per thread.
#[inline]
pub const fn next_random(state: u64) -> u64 {
    let mut word = if state == 0 {
        0x9E37_79B9_7F4A_7C15
    } else {
        state
    };
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    word
}

/// Bytes until the next sample, from a random word.
pub fn distance(random: u64, mean: u64) -> i64 {
    // 53 random bits plus a half, so the argument of the logarithm is never zero.
    let uniform = ((random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    (-natural_log(uniform) * mean as f64) as i64
}

/// The bytes that a sampled request of `size` bytes stands for.
pub fn weight(size: u64, mean: u64) -> u64 {
    let size = if size == 0 { 1 } else { size };
    let ratio = size as f64 / mean as f64;
    let chance = 1.0 - decay(ratio);
    (size as f64 / chance + 0.5) as u64
}

/// `ln(x)` for `0 < x <= 1`, to nine digits: the exponent is read off, the rest is a series.
fn natural_log(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i64 - 1023;
    let mantissa = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF) | 0x3FF0_0000_0000_0000);
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let mut term = t;
    let mut sum = 0.0;
    let mut divisor = 1.0;
    while divisor < 18.0 {
        sum += term / divisor;
        term *= square;
        divisor += 2.0;
    }
    2.0 * sum + exponent as f64 * core::f64::consts::LN_2
}

/// `e^(−x)` for `x >= 0`: halved until small, a series, squared back.
fn decay(x: f64) -> f64 {
    let mut small = x;
    let mut halvings = 0_u32;
    while small > 0.5 && halvings < 12 {
        small /= 2.0;
        halvings += 1;
    }
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut step = 1.0;
    while step < 14.0 {
        term *= -small / step;
        sum += term;
        step += 1.0;
    }
    while halvings > 0 {
        sum *= sum;
        halvings -= 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_exponential_agree_with_the_library() {
        for step in 1..2000_u32 {
            let x = f64::from(step) / 2000.0;
            assert!((natural_log(x) - x.ln()).abs() < 1e-8, "{x}");
            assert!((decay(8.0 * x) - (-8.0 * x).exp()).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn sampled_sums_are_unbiased() {
        let mut state = 42;
        for size in [16_u64, 700, 30_000] {
            let requests = 40_000_000 / size;
            let (mut left, mut estimate) = (0_i64, 0_u64);
            state = next_random(state);
            left += distance(state, SAMPLE_MEAN);
            for _ in 0..requests {
                left -= size as i64;
                if left < 0 {
                    estimate += weight(size, SAMPLE_MEAN);
                    state = next_random(state);
                    left = distance(state, SAMPLE_MEAN);
                }
            }
            let truth = (requests * size) as f64;
            let error = (estimate as f64 - truth).abs() / truth;
            // 76 samples give a standard error of 11 %; four of them is a defect.
            assert!(error < 0.46, "size {size}: off by {error}");
        }
    }

    #[test]
    fn distances_have_the_right_mean() {
        let mut state = 7;
        let mut sum = 0_i64;
        for _ in 0..100_000 {
            state = next_random(state);
            sum += distance(state, SAMPLE_MEAN);
        }
        let mean = sum as f64 / 100_000.0;
        assert!((mean / SAMPLE_MEAN as f64 - 1.0).abs() < 0.02, "{mean}");
    }
}
