//! The lab's time: real, scaled or virtual.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use tokio::sync::watch;
use tokio::time::Instant;

/// The slowest and fastest accepted `--speed`.
pub const SPEED_RANGE: std::ops::RangeInclusive<f64> = 0.01..=10_000.0;

/// How far the time of an object can be ahead of kubectl's own time without the age `<invalid>` in `kubectl describe`.
pub const AGE_TOLERANCE: SignedDuration = SignedDuration::from_secs(2);

/// A cheap handle to the lab's time. Clones share the same time line.
#[derive(Clone, Debug)]
pub struct Clock {
    mode: Arc<Mode>,
}

#[derive(Debug)]
enum Mode {
    /// The machine's wall clock, as every real cluster needs it.
    Real,
    /// Lab time derived from tokio's clock.
    Derived(Timeline),
    /// Lab time derived from tokio's clock inside [`virtual_runtime`].
    Virtual(Timeline),
    /// The wall clock until the speed is first set to another value than 1, then derived lab time.
    Adjustable(watch::Sender<Option<Timeline>>),
}

/// Lab time as a function of tokio's clock: `base + elapsed * speed`, or `base` while it is paused.
#[derive(Clone, Copy, Debug)]
struct Timeline {
    base: Timestamp,
    origin: Instant,
    speed: f64,
    is_paused: bool,
}

/// The changes of an adjustable clock: its speed is set, or it is paused or resumed.
#[derive(Debug)]
pub struct ClockChanges(watch::Receiver<Option<Timeline>>);

impl ClockChanges {
    /// Marks the changes so far as seen.
    pub fn mark_unchanged(&mut self) {
        self.0.mark_unchanged();
    }

    /// Waits for the next change. Never returns after the last handle of the clock is dropped.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Timeline {
    fn starting_at(base: Timestamp, speed: f64) -> Self {
        Self {
            base,
            origin: Instant::now(),
            speed,
            is_paused: false,
        }
    }

    fn now(&self) -> Timestamp {
        if self.is_paused {
            return self.base;
        }
        let lab = self.origin.elapsed().mul_f64(self.speed);
        SignedDuration::try_from(lab)
            .ok()
            .and_then(|d| self.base.checked_add(d).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

impl Clock {
    /// Wall-clock time.
    pub fn real() -> Self {
        Self {
            mode: Arc::new(Mode::Real),
        }
    }

    /// Lab time that starts now and runs `speed` times as fast as the wall clock.
    /// A speed of exactly 1 is the wall clock itself. Values outside [`SPEED_RANGE`] are clamped.
    pub fn scaled(speed: f64) -> Self {
        if speed == 1.0 {
            return Self::real();
        }
        Self::derived(Timestamp::now(), accepted(speed))
    }

    /// As [`Clock::scaled`], and [`Clock::set_speed`] changes the speed.
    pub fn adjustable(speed: f64) -> Self {
        Self::adjustable_after(speed, None)
    }

    /// As [`Clock::adjustable`], but not before `earliest`: lab time continues after a restart.
    pub fn adjustable_after(speed: f64, earliest: Option<Timestamp>) -> Self {
        let now = Timestamp::now();
        let timeline = match (accepted(speed), earliest.filter(|earliest| *earliest > now)) {
            (1.0, None) => None,
            (speed, earliest) => Some(Timeline::starting_at(earliest.unwrap_or(now), speed)),
        };
        Self {
            mode: Arc::new(Mode::Adjustable(watch::Sender::new(timeline))),
        }
    }

    /// As [`Clock::adjustable`], but lab time starts at `base`.
    pub fn adjustable_from(base: Timestamp, speed: f64) -> Self {
        let timeline = Timeline::starting_at(base, accepted(speed));
        Self {
            mode: Arc::new(Mode::Adjustable(watch::Sender::new(Some(timeline)))),
        }
    }

    /// Changes the speed of an adjustable clock from now on, also for waits that have begun; a paused clock
    /// stays paused. Returns `false` for other clocks. Values outside [`SPEED_RANGE`] are clamped.
    pub fn set_speed(&self, speed: f64) -> bool {
        self.change(|timeline| timeline.speed = accepted(speed))
    }

    /// Stops the lab time of an adjustable clock: waits do not end until [`Clock::resume`]. Returns `false` for
    /// other clocks.
    pub fn pause(&self) -> bool {
        self.change(|timeline| timeline.is_paused = true)
    }

    /// Continues the lab time of an adjustable clock at its speed. Returns `false` for other clocks.
    pub fn resume(&self) -> bool {
        self.change(|timeline| timeline.is_paused = false)
    }

    /// Sets the lab time, the speed and the pause of an adjustable clock: those of another clock. Returns `false` for
    /// other clocks.
    pub fn synchronize(&self, now: Timestamp, speed: f64, is_paused: bool) -> bool {
        self.change(|timeline| {
            timeline.base = now;
            timeline.speed = accepted(speed);
            timeline.is_paused = is_paused;
        })
    }

    /// Whether lab time stands still since [`Clock::pause`].
    pub fn is_paused(&self) -> bool {
        match &*self.mode {
            Mode::Adjustable(timeline) => timeline.borrow().is_some_and(|t| t.is_paused),
            Mode::Real | Mode::Derived(_) | Mode::Virtual(_) => false,
        }
    }

    /// Waits until lab time does not stand still. Controllers wait for it before each reconcile, since a
    /// write of a client would wake them while the clock is paused.
    pub async fn running(&self) {
        let Mode::Adjustable(timeline) = &*self.mode else {
            return;
        };
        if !self.is_paused() {
            return;
        }
        let mut changes = timeline.subscribe();
        // The sender lives as long as this clock.
        let _ = changes
            .wait_for(|timeline| timeline.is_none_or(|t| !t.is_paused))
            .await;
    }

    /// The changes of an adjustable clock from now on; `None` for other clocks, which never change.
    pub fn changes(&self) -> Option<ClockChanges> {
        match &*self.mode {
            Mode::Adjustable(timeline) => Some(ClockChanges(timeline.subscribe())),
            Mode::Real | Mode::Derived(_) | Mode::Virtual(_) => None,
        }
    }

    /// How far lab time is ahead of the wall clock; negative if it is behind.
    pub fn ahead_of_wall_clock(&self) -> SignedDuration {
        match &*self.mode {
            Mode::Real => SignedDuration::ZERO,
            Mode::Adjustable(timeline) if timeline.borrow().is_none() => SignedDuration::ZERO,
            Mode::Derived(_) | Mode::Virtual(_) | Mode::Adjustable(_) => {
                self.now().duration_since(Timestamp::now())
            }
        }
    }

    /// Changes the timeline of an adjustable clock from now on.
    fn change(&self, change: impl FnOnce(&mut Timeline)) -> bool {
        let Mode::Adjustable(timeline) = &*self.mode else {
            return false;
        };
        timeline.send_modify(|timeline| {
            let timeline =
                timeline.get_or_insert_with(|| Timeline::starting_at(Timestamp::now(), 1.0));
            (timeline.base, timeline.origin) = (timeline.now(), Instant::now());
            change(timeline);
        });
        true
    }

    /// Whether [`Clock::set_speed`] and [`Clock::pause`] have an effect.
    pub fn is_adjustable(&self) -> bool {
        matches!(*self.mode, Mode::Adjustable(_))
    }

    /// Lab time that starts at `base` and runs `speed` times as fast as the wall clock. Values outside
    /// [`SPEED_RANGE`] are clamped.
    pub fn scaled_from(base: Timestamp, speed: f64) -> Self {
        Self::derived(base, accepted(speed))
    }

    /// Lab time that starts at `base` and follows tokio's clock; inside [`virtual_runtime`] that is
    /// virtual time.
    pub fn starting_at(base: Timestamp) -> Self {
        Self::derived(base, 1.0)
    }

    /// Lab time that starts at `base` inside [`virtual_runtime`].
    pub fn virtual_from(base: Timestamp) -> Self {
        Self {
            mode: Arc::new(Mode::Virtual(Timeline::starting_at(base, 1.0))),
        }
    }

    /// Whether time advances only when all tasks wait for it, and so does not depend on the speed of the machine.
    pub fn is_virtual(&self) -> bool {
        matches!(*self.mode, Mode::Virtual(_))
    }

    fn derived(base: Timestamp, speed: f64) -> Self {
        Self {
            mode: Arc::new(Mode::Derived(Timeline::starting_at(base, speed))),
        }
    }

    /// How many lab seconds pass in one wall-clock second, unless the clock is paused.
    pub fn speed(&self) -> f64 {
        match &*self.mode {
            Mode::Real => 1.0,
            Mode::Derived(timeline) | Mode::Virtual(timeline) => timeline.speed,
            Mode::Adjustable(timeline) => timeline.borrow().map_or(1.0, |t| t.speed),
        }
    }

    /// The current lab time, with sub-second precision.
    pub fn now(&self) -> Timestamp {
        match &*self.mode {
            Mode::Real => Timestamp::now(),
            Mode::Derived(timeline) | Mode::Virtual(timeline) => timeline.now(),
            Mode::Adjustable(timeline) => {
                let timeline = *timeline.borrow();
                timeline.map_or_else(Timestamp::now, |t| t.now())
            }
        }
    }

    /// The current lab time as a Kubernetes `metav1.Time`, truncated to whole seconds as the API
    /// does.
    pub fn time(&self) -> Time {
        Time(whole_seconds(self.now()))
    }

    /// The current lab time as a Kubernetes `metav1.MicroTime`.
    pub fn micro_time(&self) -> MicroTime {
        MicroTime(self.now())
    }

    /// Waits for `lab` time to pass.
    pub async fn sleep(&self, lab: Duration) {
        let Mode::Adjustable(timeline) = &*self.mode else {
            return tokio::time::sleep(self.to_wall(lab)).await;
        };
        let mut changes = timeline.subscribe();
        let mut left = lab;
        loop {
            let (speed, is_paused) = changes
                .borrow_and_update()
                .map_or((1.0, false), |t| (t.speed, t.is_paused));
            let started = Instant::now();
            let changed = async {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            if is_paused {
                changed.await;
                continue;
            }
            let wait = tokio::time::timeout(wall_duration(left, speed), changed);
            if wait.await.is_err() {
                return;
            }
            left = left.saturating_sub(started.elapsed().mul_f64(speed));
        }
    }

    /// Waits until lab time reaches `deadline`; returns at once if it has passed.
    pub async fn sleep_until(&self, deadline: Timestamp) {
        loop {
            let left = deadline.duration_since(self.now());
            if left <= SignedDuration::ZERO {
                return;
            }
            self.sleep(left.unsigned_abs()).await;
        }
    }

    /// The wall-clock duration of `lab` time, for code that knows only tokio's clock.
    pub fn to_wall(&self, lab: Duration) -> Duration {
        match *self.mode {
            Mode::Real | Mode::Virtual(_) => lab,
            Mode::Derived(_) | Mode::Adjustable(_) => wall_duration(lab, self.speed()),
        }
    }
}

/// The wall-clock duration of `lab` time, at most [`Duration::MAX`].
fn wall_duration(lab: Duration, speed: f64) -> Duration {
    if speed == 1.0 {
        return lab;
    }
    Duration::try_from_secs_f64(lab.as_secs_f64() / speed).unwrap_or(Duration::MAX)
}

/// A speed within [`SPEED_RANGE`].
fn accepted(speed: f64) -> f64 {
    let speed = if speed.is_finite() { speed } else { 1.0 };
    speed.clamp(*SPEED_RANGE.start(), *SPEED_RANGE.end())
}

/// Truncates a time to whole seconds, the precision of `metav1.Time` on the wire.
pub fn whole_seconds(t: Timestamp) -> Timestamp {
    Timestamp::from_second(t.as_nanosecond().div_euclid(1_000_000_000) as i64).unwrap_or(t)
}

/// A single-threaded runtime whose clock is virtual: time advances only when all tasks wait for it.
pub fn virtual_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_jumps_to_the_next_timer() {
        let rt = virtual_runtime().unwrap();
        rt.block_on(async {
            let base: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
            let clock = Clock::starting_at(base);
            clock.sleep(Duration::from_secs(3600)).await;
            assert_eq!(clock.now().duration_since(base).as_secs(), 3600);
        });
    }

    #[test]
    fn a_change_of_speed_shortens_waits_that_have_begun() {
        let rt = virtual_runtime().unwrap();
        rt.block_on(async {
            let clock = Clock::adjustable(1.0);
            let (wall, lab) = (Instant::now(), clock.now());
            let waiting = tokio::spawn({
                let clock = clock.clone();
                async move { clock.sleep(Duration::from_secs(110)).await }
            });
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert!(clock.set_speed(10.0));
            assert_eq!(clock.speed(), 10.0);
            let changed = clock.now();
            waiting.await.unwrap();
            assert_eq!(wall.elapsed().as_secs(), 20);
            assert_eq!(clock.now().duration_since(changed).as_secs(), 100);
            assert!(lab <= changed);
            assert!(!Clock::scaled(2.0).set_speed(3.0));
        });
    }

    #[test]
    fn a_paused_clock_stands_still_and_its_waits_continue_when_it_is_resumed() {
        let rt = virtual_runtime().unwrap();
        rt.block_on(async {
            let clock = Clock::adjustable(10.0);
            let started = clock.now();
            let waiting = tokio::spawn({
                let clock = clock.clone();
                async move { clock.sleep(Duration::from_secs(100)).await }
            });
            tokio::time::sleep(Duration::from_secs(4)).await;
            assert!(clock.pause());
            let paused_at = clock.now();
            assert_eq!(paused_at.duration_since(started).as_secs(), 40);
            tokio::time::sleep(Duration::from_secs(3600)).await;
            assert_eq!(clock.now(), paused_at);
            assert!(clock.is_paused() && !waiting.is_finished());
            // A change of the speed does not resume it.
            assert!(clock.set_speed(60.0));
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(clock.now(), paused_at);
            let resumed = Instant::now();
            let running = tokio::spawn({
                let clock = clock.clone();
                async move { clock.running().await }
            });
            tokio::task::yield_now().await;
            assert!(!running.is_finished());
            assert!(clock.resume());
            running.await.unwrap();
            waiting.await.unwrap();
            assert_eq!(resumed.elapsed(), Duration::from_secs(1));
            assert_eq!(clock.now().duration_since(started).as_secs(), 100);
        });
    }

    #[test]
    fn only_an_adjustable_clock_is_paused() {
        for clock in [Clock::real(), Clock::scaled(2.0)] {
            assert!(!clock.pause() && !clock.is_paused() && !clock.resume());
        }
    }

    #[test]
    fn a_scaled_clock_divides_waits() {
        let clock = Clock::scaled(60.0);
        assert_eq!(
            clock.to_wall(Duration::from_secs(60)),
            Duration::from_secs(1)
        );
        assert_eq!(
            Clock::scaled(1.0).to_wall(Duration::from_secs(60)),
            Duration::from_secs(60)
        );
    }

    #[test]
    fn whole_seconds_rounds_down_before_the_epoch_too() {
        let t = Timestamp::from_millisecond(-1_500).unwrap();
        assert_eq!(whole_seconds(t).as_second(), -2);
    }
}
