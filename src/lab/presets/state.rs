//! The state of the presets, as the UI shows it.

use jiff::Timestamp;

use super::{Finding, Sample, TakenOverFields};

/// One preset of the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetInfo {
    /// Name of its sub-folder.
    pub name: String,
    /// The path of its folder.
    pub folder: String,
    /// The leading comment of its files.
    pub description: String,
    /// The names of its files, without samples.
    pub files: Vec<String>,
    /// Samples to submit to its queues.
    pub samples: Vec<Sample>,
}

impl PresetInfo {
    /// The first sentence of the description.
    pub fn summary(&self) -> &str {
        let first = self.description.split("\n\n").next().unwrap_or_default();
        let end = first
            .find(". ")
            .or_else(|| first.find(".\n"))
            .map(|i| i + 1);
        first[..end.unwrap_or(first.len())].trim()
    }
}

/// Whether the applied state matches the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncStatus {
    /// Nothing has been applied yet.
    #[default]
    NotApplied,
    /// The files are applied.
    Synced,
    /// The files are invalid; the last good state stays applied.
    LastGood,
    /// The last save waits until the preset is applied explicitly; the last good state stays applied.
    Held,
}

/// All presets and the state of the active one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PresetsState {
    /// The path of the presets folder.
    pub origin: String,
    /// All presets, by name.
    pub presets: Vec<PresetInfo>,
    /// The active preset; `None` until the first is applied.
    pub active: Option<String>,
    /// Whether the applied state matches the files.
    pub sync_status: SyncStatus,
    /// The number of successful applies.
    pub revision: u64,
    /// The number of managed objects.
    pub objects: usize,
    /// The summary of the last apply, such as `2 applied, 1 removed`.
    pub summary: String,
    /// The time of the last apply.
    pub applied_at: Option<Timestamp>,
    /// The effects of the last save on the cluster, as text; empty if it was not planned.
    pub plan: String,
    /// The errors of the files.
    pub errors: Vec<Finding>,
    /// Warnings about the applied files.
    pub warnings: Vec<Finding>,
    /// Fields of other clients that the last apply took over.
    pub taken_over: Vec<TakenOverFields>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence() {
        let info = |about: &str| PresetInfo {
            description: about.into(),
            ..PresetInfo::default()
        };
        assert_eq!(
            info("Teaches v1.5 quotas. Try this.\n\nMore").summary(),
            "Teaches v1.5 quotas."
        );
        assert_eq!(
            info("One line\nand another").summary(),
            "One line\nand another"
        );
        assert_eq!(info("").summary(), "");
    }
}
