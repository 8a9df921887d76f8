//! Presets: their state, and the backend that switches them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use super::OperationError;

/// A lab with a presets folder. The returned texts are one sentence about the result.
#[async_trait]
pub trait PresetBackend: Send + Sync + 'static {
    /// The presets and their states.
    fn changes(&self) -> watch::Receiver<Arc<PresetList>>;

    /// Makes another preset the active one.
    ///
    /// # Errors
    /// The preset does not exist or is invalid.
    async fn switch(&self, name: &str) -> Result<String, OperationError>;

    /// Submits a sample of a preset.
    ///
    /// # Errors
    /// The sample does not exist, or the API server rejects it.
    async fn submit_sample(&self, preset: &str, sample: &str) -> Result<String, OperationError>;
}

/// The presets of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetList {
    /// Path of the folder.
    pub folder: String,
    /// The presets, sorted by name.
    pub presets: Vec<Preset>,
}

impl PresetList {
    /// The preset of that name.
    pub fn named(&self, name: &str) -> Option<&Preset> {
        self.presets.iter().find(|p| p.name == name)
    }

    /// The location of a diagnostic relative to the folder: `NAME/FILE:LINE:COLUMN`.
    pub fn location(&self, diagnostic: &Diagnostic) -> String {
        let location = diagnostic.location();
        let within = location.strip_prefix(self.folder.trim_end_matches('/'));
        match within.and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) if !self.folder.is_empty() => rest.to_owned(),
            _ => location,
        }
    }
}

/// One preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: String,
    /// The leading comment of its files.
    pub description: String,
    /// Its state.
    pub state: PresetState,
    /// Its files, relative to its folder, where known.
    pub files: Vec<String>,
    /// The number of its objects that are applied.
    pub objects: usize,
    /// The result of the last apply, such as `2 applied, 1 removed`.
    pub summary: String,
    /// Its samples: name and description.
    pub samples: Vec<(String, String)>,
    /// What the last save does to the cluster, as text; empty if it was not planned.
    pub plan: String,
    /// Warnings of the last apply.
    pub warnings: Vec<String>,
    /// How many times it was applied.
    pub revision: u64,
    /// The time of the last apply, in lab time.
    pub applied_at: Option<Timestamp>,
}

/// The state of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PresetState {
    /// Not the active one.
    #[default]
    Idle,
    /// Being applied.
    Applying,
    /// Applied.
    Active,
    /// The last save is held until the preset is applied.
    Held {
        /// Why, one sentence.
        hold_reason: String,
    },
    /// The files have errors or the API server rejected their objects.
    Invalid {
        /// The errors, in the order of the files.
        diagnostics: Vec<Diagnostic>,
        /// Whether an earlier revision of this preset is still applied.
        last_good_applied: bool,
    },
}

/// An error in a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line, 1-based.
    pub line: Option<u64>,
    /// The column, 1-based.
    pub column: Option<u64>,
    /// The object, as `Kind namespace/name`.
    pub object: Option<String>,
    /// The error.
    pub reason: String,
    /// How to fix it.
    pub remedy: Option<String>,
}

impl Diagnostic {
    /// `file:line:column`; unknown numbers are left out.
    pub fn location(&self) -> String {
        let mut location = self.file.clone();
        for number in [self.line, self.column].into_iter().map_while(|n| n) {
            location.push_str(&format!(":{number}"));
        }
        location
    }
}
