//! What a person sees of the presets.

use jiff::Timestamp;

use super::{Finding, Sample};

/// One preset of the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetInfo {
    /// Name of its sub-folder.
    pub name: String,
    /// What it teaches, in its own words.
    pub description: String,
    /// Things to submit to its queues.
    pub samples: Vec<Sample>,
}

impl PresetInfo {
    /// The first sentence of what it says of itself.
    pub fn summary(&self) -> &str {
        let first = self.description.split("\n\n").next().unwrap_or_default();
        let end = first
            .find(". ")
            .or_else(|| first.find(".\n"))
            .map(|i| i + 1);
        first[..end.unwrap_or(first.len())].trim()
    }
}

/// How what is in force relates to the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncStatus {
    /// Nothing has been applied yet.
    #[default]
    NotApplied,
    /// What the files say is in force.
    Synced,
    /// The files are wrong somewhere; what was in force before still is.
    LastGood,
}

/// The presets and the one in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PresetsState {
    /// Where the presets come from, in words.
    pub origin: String,
    /// All presets, by name.
    pub presets: Vec<PresetInfo>,
    /// The preset in force.
    pub active: String,
    /// How what is in force relates to the files.
    pub sync_status: SyncStatus,
    /// Counts the changes that were applied.
    pub revision: u64,
    /// Objects in force.
    pub objects: usize,
    /// What the last change came to, such as `2 applied, 1 removed`.
    pub summary: String,
    /// When that was.
    pub applied_at: Option<Timestamp>,
    /// Why the files are not in force.
    pub errors: Vec<Finding>,
    /// What the files probably do not mean.
    pub warnings: Vec<Finding>,
}

impl PresetsState {
    /// The preset in force, with what it says of itself.
    pub fn active_preset(&self) -> Option<&PresetInfo> {
        self.presets.iter().find(|p| p.name == self.active)
    }
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
