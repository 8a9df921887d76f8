//! `kueue-lab play --info`: what a recording has.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use kueue_lab_recording::{LandmarkKind, NOT_SERVED, Recording};

use crate::cli::recording_file::{gap_notes, length, seconds};

/// What a recording has, one line for each property.
pub(super) fn info(path: &Path, recording: &Recording) -> String {
    let (header, history) = (&recording.header, &recording.history);
    let (begin, end) = (history.begins_at(), history.ends_at());
    let last = history.at(end);
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<11}{value}");
    };
    line("recording", path.display().to_string());
    line(
        "cluster",
        format!("{}, recorded by kueue-lab {}", header.cluster, header.lab),
    );
    line("begin", seconds(begin));
    line(
        "end",
        format!("{}, after {}", seconds(end), length(begin, end)),
    );
    line("speed", format!("{} at the begin", header.speed));
    line("entries", history.len().to_string());
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for object in last.objects() {
        if let Some(kind) = last.kinds.get(usize::from(object.id.kind)) {
            *kinds.entry(&kind.kind).or_default() += 1;
        }
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, n)| format!("{n} {kind}"))
        .collect();
    line(
        "objects",
        format!("{} at the end: {}", last.len(), kinds.join(", ")),
    );
    let counts = history.landmark_counts();
    let count = |kind| counts.get(&kind).copied().unwrap_or_default();
    line(
        "decisions",
        format!(
            "{} admissions, {} preemptions, {} other evictions, {} finished",
            count(LandmarkKind::Admitted),
            count(LandmarkKind::Preempted),
            count(LandmarkKind::Evicted),
            count(LandmarkKind::Finished),
        ),
    );
    let not_served: Vec<&str> = last
        .gaps()
        .filter(|(_, why)| *why == NOT_SERVED)
        .map(|(kind, _)| &*kind.kind)
        .collect();
    if !not_served.is_empty() {
        line("not served", not_served.join(", "));
    }
    gap_notes(&last)
        .into_iter()
        .for_each(|gap| line("gap", gap));
    if let Some(until) = history.thinned_until() {
        line("thinned", format!("until {}", seconds(until)));
    }
    if let Some(note) = &recording.note {
        line("note", note.clone());
    }
    text
}
