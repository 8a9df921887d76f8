//! Locates the lab's files: in the checkout, in the folder of a flag, or extracted from the binary.

use std::io;
use std::path::{Path, PathBuf};

use super::file_source::FileSource;
use super::shipped::{LAB_FILES, PRESETS};
use kueue_lab_presets::write_out;

/// The presets folder, and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresetsFolder {
    /// Set by a flag.
    Flag(PathBuf),
    /// In the checkout the lab is started in.
    Checkout(PathBuf),
    /// Extracted from the binary, to be edited.
    Extracted(PathBuf),
}

impl PresetsFolder {
    /// The folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Flag(path) | Self::Checkout(path) | Self::Extracted(path) => path,
        }
    }
}

/// The locations of the lab's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabPaths {
    /// The presets folder.
    pub presets: PresetsFolder,
    /// Scenarios, SkyPilot tasks and node pools.
    pub lab: FileSource,
    /// Preset files that the user has edited and that are newer in the binary.
    pub outdated: Vec<String>,
}

/// The presets of the binary cannot be written to a folder.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the presets to {}: {error}; name a presets folder with --presets-dir",
    .folder.display()
)]
pub struct PresetsNotWritten {
    folder: PathBuf,
    #[source]
    error: io::Error,
}

impl LabPaths {
    /// Finds the locations. A checkout is a folder with both `presets` and `lab/scenarios`.
    ///
    /// # Errors
    /// The presets cannot be extracted; the message names the folder and a remedy.
    pub fn find(presets_dir: Option<PathBuf>, here: &Path) -> Result<Self, PresetsNotWritten> {
        let checkout = here.join("presets").is_dir() && here.join("lab/scenarios").is_dir();
        let lab = match checkout {
            true => FileSource::Folder(relative(here, "lab")),
            false => FileSource::Shipped(LAB_FILES),
        };
        let mut outdated = Vec::new();
        let presets = match presets_dir {
            Some(path) => PresetsFolder::Flag(path),
            None if checkout => PresetsFolder::Checkout(relative(here, "presets")),
            None => {
                let folder = state_dir().join("presets");
                outdated = match write_out(&folder, PRESETS) {
                    Ok(outdated) => outdated,
                    Err(error) => return Err(PresetsNotWritten { folder, error }),
                };
                PresetsFolder::Extracted(folder)
            }
        };
        Ok(Self {
            presets,
            lab,
            outdated,
        })
    }
}

/// A display path: relative in the working directory.
fn relative(here: &Path, name: &str) -> PathBuf {
    match std::env::current_dir() {
        Ok(current) if current == here => PathBuf::from(name),
        _ => here.join(name),
    }
}

/// The folder for state that outlives a run: `$XDG_STATE_HOME/kueue-lab`, by default
/// `~/.local/state/kueue-lab`, and without a home directory the temporary folder.
pub fn state_dir() -> PathBuf {
    set("XDG_STATE_HOME")
        .filter(|p| p.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(std::env::temp_dir)
        .join("kueue-lab")
}

/// SkyPilot's configuration file: `$SKYPILOT_GLOBAL_CONFIG`, by default `~/.sky/config.yaml`; `None`
/// without a home directory.
pub fn sky_config_file() -> Option<PathBuf> {
    set("SKYPILOT_GLOBAL_CONFIG").or_else(|| set("HOME").map(|home| home.join(".sky/config.yaml")))
}

/// The path in an environment variable.
fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_recognised_and_a_flag_wins() {
        let root = tempfile::tempdir().unwrap();
        let here = root.path();
        std::fs::create_dir_all(here.join("presets/a")).unwrap();
        std::fs::create_dir_all(here.join("lab/scenarios")).unwrap();
        let paths = LabPaths::find(None, here).unwrap();
        assert_eq!(paths.presets, PresetsFolder::Checkout(here.join("presets")));
        assert_eq!(paths.lab, FileSource::Folder(here.join("lab")));
        let given = LabPaths::find(Some("x".into()), here).unwrap();
        assert_eq!(given.presets, PresetsFolder::Flag("x".into()));
    }
}
