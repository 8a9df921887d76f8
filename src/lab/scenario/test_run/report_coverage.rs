//! The coverage of queue configurations by cases.

use serde_json::{Value, json};

use super::run_case::CaseResult;
use crate::coverage::Parts;
use crate::format::TestFile;

/// The coverage of one preset, by all cases that use it.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The folder of the preset.
    pub preset: String,
    /// The number of parts that cases can exercise.
    pub total: usize,
    /// The parts that no case exercised.
    pub missing: Parts,
}

/// The coverage of the presets of test files, in the order of the files.
pub fn coverage(files: &[TestFile], results: &[CaseResult]) -> Vec<Coverage> {
    let mut all: Vec<Coverage> = Vec::new();
    let mut folders = Vec::new();
    for file in files {
        let folder = file.presets.join(&file.preset);
        let folder = if folder.is_dir() {
            &folder
        } else {
            &file.presets
        };
        let preset = folder.display().to_string();
        // Relative paths can name one folder in several ways.
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let index = folders.iter().position(|folder| *folder == real);
        let index = index.unwrap_or_else(|| {
            folders.push(real);
            all.push(Coverage {
                preset,
                total: file.parts.len(),
                missing: file.parts.clone(),
            });
            all.len() - 1
        });
        let of_file = results.iter().filter(|result| result.file == file.file);
        for part in of_file.flat_map(|result| &result.exercised) {
            all[index].missing.remove(part);
        }
    }
    all
}

impl Coverage {
    /// As lines of text.
    pub fn text(&self) -> String {
        let covered = self.total - self.missing.len();
        let head = format!("coverage of {}: {covered} of {}\n", self.preset, self.total);
        let missing = self.missing.iter();
        missing.fold(head, |text, part| text + "  not exercised: " + part + "\n")
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({"preset": self.preset, "total": self.total, "notExercised": self.missing})
    }
}
