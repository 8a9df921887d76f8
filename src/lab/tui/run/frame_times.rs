//! Frame times, logged when the UI ends.

use std::fmt;
use std::time::Duration;

/// The time budget of a frame: a sixtieth of a second.
const FRAME_BUDGET: Duration = Duration::from_millis(16);
/// The most frame times kept; the latest replace the oldest.
const MAX_SAMPLES: usize = 1 << 16;

/// The times of refreshing and drawing the state.
#[derive(Debug, Default)]
pub(super) struct FrameTimes {
    times: Vec<Duration>,
    drawn: usize,
}

impl FrameTimes {
    /// Adds the time of a frame.
    pub(super) fn add(&mut self, took: Duration) {
        match self.times.get_mut(self.drawn % MAX_SAMPLES) {
            Some(oldest) => *oldest = took,
            None => self.times.push(took),
        }
        self.drawn += 1;
    }
}

impl fmt::Display for FrameTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times = self.times.clone();
        times.sort_unstable();
        let ms = |permille: usize| {
            let rank = (times.len() * permille).div_ceil(1_000).saturating_sub(1);
            times.get(rank).copied().unwrap_or_default().as_secs_f64() * 1_000.0
        };
        let slow = times.iter().filter(|took| **took > FRAME_BUDGET).count();
        write!(
            f,
            "{} frames: median {:.1} ms, 99 % within {:.1} ms, longest {:.1} ms, {slow} over {} ms",
            self.drawn,
            ms(500),
            ms(990),
            ms(1_000),
            FRAME_BUDGET.as_millis(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_hundred_frames() {
        let mut frames = FrameTimes::default();
        (1..=100).for_each(|ms| frames.add(Duration::from_millis(ms)));
        assert_eq!(
            frames.to_string(),
            "100 frames: median 50.0 ms, 99 % within 99.0 ms, longest 100.0 ms, 84 over 16 ms"
        );
        assert!(
            FrameTimes::default()
                .to_string()
                .starts_with("0 frames: median 0.0 ms")
        );
    }

    #[test]
    fn the_latest_times_are_kept() {
        let mut frames = FrameTimes::default();
        frames.add(Duration::from_secs(1));
        (0..MAX_SAMPLES).for_each(|_| frames.add(Duration::from_millis(1)));
        assert_eq!(frames.drawn, MAX_SAMPLES + 1);
        assert!(frames.to_string().contains("longest 1.0 ms"));
    }
}
