//! Where the lab's files are: in the checkout it is started from, where somebody says, or written out
//! of the binary.

use std::io;
use std::path::{Path, PathBuf};

use super::file_source::FileSource;
use super::shipped::{LAB_FILES, PRESETS};
use kueue_lab_presets::write_out;

/// A folder, and how it came to be the one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresetsFolder {
    /// Named by a flag.
    Flag(PathBuf),
    /// Of the checkout the lab is started in.
    Checkout(PathBuf),
    /// Written out of the binary, to be edited.
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

/// The places a lab takes its files from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabPaths {
    /// The presets folder.
    pub presets: PresetsFolder,
    /// Scenarios, SkyPilot tasks and node pools.
    pub lab: FileSource,
    /// Preset files that a person has edited and that the binary has newer ones of.
    pub outdated: Vec<String>,
}

impl LabPaths {
    /// Finds the places. A checkout is a folder with both `presets` and `lab/scenarios` in it.
    ///
    /// # Errors
    /// The presets cannot be written out; a sentence that says where and what to do.
    pub fn find(presets_dir: Option<PathBuf>, here: &Path) -> Result<Self, String> {
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
                outdated = write_out(&folder, PRESETS).map_err(|e| failed(&folder, &e))?;
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

/// A path people can read: relative when the lab is started right there.
fn relative(here: &Path, name: &str) -> PathBuf {
    match std::env::current_dir() {
        Ok(current) if current == here => PathBuf::from(name),
        _ => here.join(name),
    }
}

fn failed(folder: &Path, error: &io::Error) -> String {
    format!(
        "cannot write the presets to {}: {error}; name a presets folder with --presets-dir",
        folder.display()
    )
}

/// Where the lab keeps what outlives a run: `$XDG_STATE_HOME/kueue-lab`, by default
/// `~/.local/state/kueue-lab`, and without a home the folder for temporary files.
pub fn state_dir() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    set("XDG_STATE_HOME")
        .filter(|p| p.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(std::env::temp_dir)
        .join("kueue-lab")
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
        let places = LabPaths::find(None, here).unwrap();
        assert_eq!(
            places.presets,
            PresetsFolder::Checkout(here.join("presets"))
        );
        assert_eq!(places.lab, FileSource::Folder(here.join("lab")));
        let given = LabPaths::find(Some("x".into()), here).unwrap();
        assert_eq!(given.presets, PresetsFolder::Flag("x".into()));
    }
}
