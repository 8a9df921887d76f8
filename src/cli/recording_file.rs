//! The files of recordings, and the times of moments in them.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use kueue_lab_import::{Bundle, recorded_bundle};
use kueue_lab_recording::{Moment, Recording, RecordingError};

use super::CommandError;

/// A time on the command line: a moment of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MomentArg {
    /// A time.
    Time(Timestamp),
    /// Since the begin of the recording.
    SinceBegin(SignedDuration),
    /// The last moment.
    End,
}

impl MomentArg {
    /// Reads a time such as `2026-01-02T15:04:05Z`, a duration since the begin such as `1m30s`, or `end`.
    ///
    /// # Errors
    /// It is none of these.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "end" {
            return Ok(Self::End);
        }
        if let Ok(time) = text.parse() {
            return Ok(Self::Time(time));
        }
        match text.parse::<SignedDuration>() {
            Ok(duration) if !duration.is_negative() => Ok(Self::SinceBegin(duration)),
            _ => Err("a moment is a time such as 2026-01-02T15:04:05Z, a duration since the begin of the recording such as 1m30s, or end".to_owned()),
        }
    }

    /// The time in a recording.
    ///
    /// # Errors
    /// The recording does not have it.
    pub(super) fn time(self, recording: &Recording) -> Result<Timestamp, CommandError> {
        let history = &recording.history;
        let (begin, end) = (history.begins_at(), history.ends_at());
        let time = match self {
            Self::Time(time) => time,
            Self::SinceBegin(duration) => {
                let since = recording.header.start.checked_add(duration);
                since.unwrap_or(Timestamp::MAX)
            }
            Self::End => end,
        };
        match (begin..=end).contains(&time) {
            true => Ok(time),
            false => Err(CommandError::usage(format!(
                "the recording has no moment at {}; it is from {} to {}, {} long",
                seconds(time),
                seconds(begin),
                seconds(end),
                length(begin, end)
            ))),
        }
    }
}

/// A time without fractions of a second.
pub(super) fn seconds(time: Timestamp) -> String {
    kueue_lab_clock::whole_seconds(time).to_string()
}

/// The time between two moments, such as `2m 10s`.
pub(super) fn length(from: Timestamp, to: Timestamp) -> String {
    let passed = to.duration_since(from).as_secs();
    format!("{:#}", SignedDuration::from_secs(passed))
}

/// Reads a recording.
///
/// # Errors
/// The file cannot be read, or is none.
pub(super) fn read_recording(path: &Path) -> Result<Recording, CommandError> {
    let recording = kueue_lab_recording::read_recording(path);
    recording.map_err(|error| unusable("read", path, error))
}

/// The error of a file that cannot be read or written.
pub(super) fn unusable(verb: &str, path: &Path, error: RecordingError) -> CommandError {
    let message = format!("cannot {verb} {}", path.display());
    match error {
        RecordingError::Cluster(error) => CommandError::failed(error),
        error => CommandError::usage(error).with_message(message),
    }
}

/// Checks that a recording can be written to a file.
///
/// # Errors
/// The file exists.
pub(super) fn check_new(path: &Path) -> Result<(), CommandError> {
    match path.try_exists() {
        Ok(true) => Err(CommandError::usage(format!(
            "{} exists, and a recording does not replace it; delete it or name another file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// The bundle of a moment, from which a lab starts; without a moment that of the end.
///
/// # Errors
/// The recording does not have this moment.
pub(super) fn bundle_at(
    recording: &Recording,
    at: Option<&MomentArg>,
) -> Result<Bundle, CommandError> {
    let time = at.copied().unwrap_or(MomentArg::End).time(recording)?;
    let moment = recording.history.at(time);
    let notes = gap_notes(&moment);
    let objects = moment.objects().map(|object| object.value.to_json());
    let cluster = &recording.header.cluster;
    Ok(recorded_bundle(cluster, time, objects.collect(), notes))
}

/// The kinds that the cluster has and that were not observed.
pub(super) fn gap_notes(moment: &Moment) -> Vec<String> {
    let gaps = moment
        .gaps()
        .filter(|(_, why)| *why != kueue_lab_recording::NOT_SERVED);
    let notes = gaps.map(|(kind, why)| format!("{} are not recorded: {why}", kind.resource_name()));
    notes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_times_or_durations() {
        let seconds = |n| MomentArg::SinceBegin(SignedDuration::from_secs(n));
        assert_eq!(MomentArg::parse("1m30s"), Ok(seconds(90)));
        assert_eq!(MomentArg::parse("0s"), Ok(seconds(0)));
        assert_eq!(MomentArg::parse("end"), Ok(MomentArg::End));
        let time = "2026-01-02T15:04:05Z";
        let parsed = time.parse().map(MomentArg::Time);
        assert_eq!(MomentArg::parse(time).ok(), parsed.ok());
        for bad in ["", "-3s", "soon", "12"] {
            assert!(MomentArg::parse(bad).is_err(), "{bad}");
        }
    }
}
