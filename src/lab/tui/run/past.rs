//! The past in the UI: moments are shown in place of the present.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kueue_lab_recording::{Direction, Landmark, LandmarkKind, Playback};

use crate::backend::{Backend, PastBackend};
use crate::state::{GoInTime, Past};
use crate::text::clock_time;

/// The least speed of a playback.
const MIN_SPEED: f64 = 0.25;
/// The greatest speed of a playback.
const MAX_SPEED: f64 = 4096.0;

/// The shown past.
pub(super) struct ShownPast {
    playback: Playback,
    can_leave: bool,
}

impl ShownPast {
    /// The past at a time.
    pub(super) fn at(past: &PastBackend, time: Timestamp, can_leave: bool) -> Self {
        Self {
            playback: Playback::new(past.history.clone(), time),
            can_leave,
        }
    }

    /// The backend of the shown moment. It changes nothing.
    pub(super) fn backend(&self, past: &PastBackend) -> Backend {
        Backend {
            explainer: Some((past.explainer)(&self.playback)),
            ..Backend::of_cluster(self.playback.client())
        }
    }

    /// A client of the cluster at the shown moment.
    pub(super) fn client(&self) -> Client {
        self.playback.client()
    }

    /// The shown moment; it moves while the course is played.
    pub(super) fn now(&self) -> Timestamp {
        self.playback.now()
    }

    /// Whether the course is played.
    pub(super) fn is_playing(&self) -> bool {
        self.playback.is_playing()
    }

    /// What the state knows of it.
    pub(super) fn state(&self) -> Past {
        let (begin, end) = self.playback.range();
        Past {
            begin,
            end,
            is_playing: self.playback.is_playing(),
            speed: self.playback.speed(),
            can_leave: self.can_leave,
        }
    }

    /// Changes the moment; returns the decision that was looked for, or that there is nothing to show.
    pub(super) fn go(&self, to: GoInTime) -> Option<Result<Landmark, String>> {
        let before = self.now();
        let found = self.go_to(to);
        found.or_else(|| self.limit(before).map(Err))
    }

    /// The limit of the history that a move from a moment has reached.
    fn limit(&self, before: Timestamp) -> Option<String> {
        let (now, history) = (self.now(), self.playback.history().read());
        if now >= before {
            return None;
        }
        if now == history.begins_at() {
            return Some("the history begins here".to_owned());
        }
        let thinned = history.thinned_until()?;
        (now < thinned && thinned <= before).then(|| {
            "from here back, only the last version of each object and minute is kept".to_owned()
        })
    }

    fn go_to(&self, to: GoInTime) -> Option<Result<Landmark, String>> {
        match to {
            GoInTime::Seconds(seconds) => self.playback.move_by(SignedDuration::from_secs(seconds)),
            GoInTime::Time(time) => self.playback.go_to(time),
            GoInTime::TogglePlaying => self.playback.set_playing(!self.playback.is_playing()),
            GoInTime::Speed(factor) => {
                let speed = (self.playback.speed() * factor).clamp(MIN_SPEED, MAX_SPEED);
                self.playback.set_speed(speed);
            }
            GoInTime::Change(direction) => {
                if !self.playback.step(direction) {
                    return Some(Err(format!("there is no {} change", order(direction))));
                }
            }
            GoInTime::Decision(direction, kinds) => {
                return Some(match self.playback.jump(direction, kinds) {
                    Some(landmark) => Ok(landmark),
                    None => Err(format!(
                        "there is no {} decision of this kind",
                        order(direction)
                    )),
                });
            }
            GoInTime::Leave => {}
        }
        None
    }
}

/// A decision in words.
pub(super) fn decision_text(landmark: &Landmark, zone: &TimeZone) -> String {
    let what = match landmark.kind {
        LandmarkKind::Admitted => "admitted",
        LandmarkKind::Preempted => "preempted",
        LandmarkKind::Evicted => "evicted",
        LandmarkKind::Finished => "finished",
    };
    format!(
        "{}: {} {what}",
        clock_time(landmark.time, zone),
        landmark.workload.key
    )
}

fn order(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "later",
        Direction::Back => "earlier",
    }
}
