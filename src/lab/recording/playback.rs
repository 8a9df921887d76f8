//! [`Playback`]: a position in a history that is moved and played.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kueue_lab_clock::Clock;
use parking_lot::Mutex;

use super::history::SharedHistory;
use super::landmark::{Landmark, LandmarkKind};
use super::moment::Moment;
use super::moment_server::MomentServer;

/// Where to look for another moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Before the position.
    Back,
    /// After the position.
    Forward,
}

/// A position in a history that is moved and played, and a read-only cluster that is that of the position.
/// Clones share the position.
#[derive(Clone)]
pub struct Playback {
    history: SharedHistory,
    server: MomentServer,
    position: Arc<Mutex<Position>>,
}

struct Position {
    time: Timestamp,
    /// Lab seconds per second while it plays.
    speed: f64,
    /// The clock whose time is the position; `None` while it does not play.
    playing: Option<Clock>,
}

impl Playback {
    /// A playback that stands at a time.
    pub fn new(history: SharedHistory, at: Timestamp) -> Self {
        let moment = history.read().at(at);
        let position = Position {
            time: moment.time,
            speed: 1.0,
            playing: None,
        };
        Self {
            history,
            server: MomentServer::new(moment),
            position: Arc::new(Mutex::new(position)),
        }
    }

    /// A client of the cluster at the position. Its watches follow the position.
    pub fn client(&self) -> Client {
        self.server.client()
    }

    /// The history.
    pub fn history(&self) -> &SharedHistory {
        &self.history
    }

    /// The cluster at the position.
    pub fn moment(&self) -> Moment {
        self.server.moment()
    }

    /// The first and the last moment.
    pub fn range(&self) -> (Timestamp, Timestamp) {
        let history = self.history.read();
        (history.begins_at(), history.ends_at())
    }

    /// The position, which moves while it plays. At the end it stops.
    pub fn now(&self) -> Timestamp {
        let end = self.history.read().ends_at();
        let mut position = self.position.lock();
        let Some(clock) = &position.playing else {
            return position.time;
        };
        let now = clock.now();
        if now >= end {
            position.playing = None;
        }
        position.time = now.min(end);
        let time = position.time;
        drop(position);
        self.show(time);
        time
    }

    /// Whether it plays.
    pub fn is_playing(&self) -> bool {
        self.position.lock().playing.is_some()
    }

    /// Lab seconds per second while it plays.
    pub fn speed(&self) -> f64 {
        self.position.lock().speed
    }

    /// Plays from the position, or stops there. At the end it plays from the begin.
    pub fn set_playing(&self, plays: bool) {
        let now = self.now();
        let (begin, end) = self.range();
        let mut position = self.position.lock();
        let from = if now >= end { begin } else { now };
        position.playing = plays.then(|| Clock::scaled_from(from, position.speed));
        if plays {
            position.time = from;
            drop(position);
            self.show(from);
        }
    }

    /// Sets the speed, in lab seconds per second.
    pub fn set_speed(&self, speed: f64) {
        let now = self.now();
        let mut position = self.position.lock();
        position.speed = speed;
        if position.playing.is_some() {
            position.playing = Some(Clock::scaled_from(now, speed));
        }
    }

    /// Moves to a time, or to the first or last moment for times outside.
    pub fn go_to(&self, time: Timestamp) {
        let (begin, end) = self.range();
        let time = time.clamp(begin, end);
        let mut position = self.position.lock();
        position.time = time;
        if position.playing.is_some() {
            position.playing = Some(Clock::scaled_from(time, position.speed));
        }
        drop(position);
        self.show(time);
    }

    /// Moves by a duration.
    pub fn move_by(&self, duration: SignedDuration) {
        let to = self.now().saturating_add(duration);
        self.go_to(to.unwrap_or(Timestamp::MAX));
    }

    /// Moves to the next or previous observation; `false` if there is none.
    pub fn step(&self, direction: Direction) -> bool {
        let now = self.now();
        let to = match direction {
            Direction::Forward => self.history.read().next_time(now),
            Direction::Back => self.history.read().previous_time(now),
        };
        to.iter().for_each(|to| self.go_to(*to));
        to.is_some()
    }

    /// Moves to the next or previous decision of some kinds.
    pub fn jump(&self, direction: Direction, kinds: &[LandmarkKind]) -> Option<Landmark> {
        let now = self.now();
        let found = {
            let history = self.history.read();
            let landmarks = history.landmarks();
            let mut wanted = landmarks.filter(|landmark| kinds.contains(&landmark.kind));
            match direction {
                Direction::Forward => wanted.find(|landmark| landmark.time > now).cloned(),
                Direction::Back => wanted.rfind(|landmark| landmark.time < now).cloned(),
            }
        };
        let found = found?;
        self.go_to(found.time);
        Some(found)
    }

    fn show(&self, time: Timestamp) {
        let moment = self.history.read().at(time);
        self.server.show(moment);
    }
}
