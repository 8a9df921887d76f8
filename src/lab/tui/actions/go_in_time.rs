//! Going to moments of the past.

use jiff::{SignedDuration, Timestamp};
use kueue_lab_recording::{Direction, LandmarkKind};

use super::Action;
use crate::msg::Cmd;
use crate::state::{GoInTime, Severity, State, UnavailableReason};

const NOTHING_RECORDED: &str =
    "nothing is recorded here: a lab of this process and `kueue-lab play` have a past";

/// The names of decisions in commands.
const DECISIONS: [(&str, &[LandmarkKind]); 5] = [
    ("decision", ALL_DECISIONS),
    ("admission", &[LandmarkKind::Admitted]),
    ("preemption", &[LandmarkKind::Preempted]),
    (
        "eviction",
        &[LandmarkKind::Evicted, LandmarkKind::Preempted],
    ),
    ("finish", &[LandmarkKind::Finished]),
];

/// All kinds of decisions.
pub(crate) const ALL_DECISIONS: &[LandmarkKind] = &[
    LandmarkKind::Admitted,
    LandmarkKind::Preempted,
    LandmarkKind::Evicted,
    LandmarkKind::Finished,
];

/// Whether there is a past.
fn has_past(state: &State) -> Result<(), UnavailableReason> {
    match state.env.can_go_back || state.ui.past.is_some() {
        true => Ok(()),
        false => Err(UnavailableReason::Unsupported(NOTHING_RECORDED)),
    }
}

impl Action for GoInTime {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        has_past(state)?;
        match (self, &state.ui.past) {
            (Self::Leave, None) => Err(UnavailableReason::because("this is the present")),
            (Self::Leave, Some(past)) if !past.can_leave => {
                Err(UnavailableReason::Unsupported("a recording has no present"))
            }
            _ => Ok(()),
        }
    }

    fn run(&self, _: &mut State) -> Vec<Cmd> {
        vec![Cmd::GoInTime(*self)]
    }
}

/// Goes to the next or previous decision. A command: the argument is the kind of decision.
#[derive(Debug)]
pub(crate) struct FindDecision(pub(crate) Direction);

impl Action for FindDecision {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        has_past(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        self.run_with(state, "")
    }

    fn run_with(&self, state: &mut State, argument: &str) -> Vec<Cmd> {
        let name = if argument.is_empty() {
            "decision"
        } else {
            argument
        };
        match DECISIONS.iter().find(|(known, _)| *known == name) {
            Some((_, kinds)) => vec![Cmd::GoInTime(GoInTime::Decision(self.0, kinds))],
            None => {
                let names = DECISIONS.map(|(name, _)| name).join(", ");
                state.notify(
                    Severity::Hint,
                    format!("no decision: {name:?}; there are {names}"),
                );
                Vec::new()
            }
        }
    }

    fn complete(&self, _: &State) -> Vec<String> {
        DECISIONS.map(|(name, _)| name.to_owned()).to_vec()
    }
}

/// Goes to a time. A command: the argument is the time of day, a whole time, or a duration since the begin.
#[derive(Debug)]
pub(crate) struct GoToTime;

impl Action for GoToTime {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        has_past(state)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        self.run_with(state, "")
    }

    fn run_with(&self, state: &mut State, argument: &str) -> Vec<Cmd> {
        match parse_time(state, argument) {
            Some(time) => vec![Cmd::GoInTime(GoInTime::Time(time))],
            None => {
                let text = format!(
                    "no time: {argument:?}; write :at 15:04:05, :at -30s, or :at 2026-01-02T15:04:05Z"
                );
                state.notify(Severity::Hint, text);
                Vec::new()
            }
        }
    }
}

/// The time of an argument: a whole time, a time of day of the shown day, or a duration from the shown moment.
fn parse_time(state: &State, text: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let now = state.data.now;
    if let Ok(duration) = text.parse::<SignedDuration>() {
        return now.checked_add(duration).ok();
    }
    let time = text.parse().ok()?;
    let shown = now.to_zoned(state.env.zone.clone());
    let zoned = shown.with().time(time).build().ok()?;
    Some(zoned.timestamp())
}
