//! The presets folder: watch, parse, validate, diff, apply, prune, and keep the last good state.
//! Reaches the cluster only through a `kube::Client`.
//!
//! A preset is a sub-folder of YAML files; the one in force is watched. Each save goes the same way:
//! read all files, refuse the whole when anything is wrong, try everything on the API server without
//! effect, apply what changed, take away what left the files. Whatever goes wrong, what was in force
//! stays in force and [`PresetsState`] says what and where. Knows `api` and `yaml`; never the controller,
//! the machines or the API server.

mod api_client;
mod apply;
mod builtin;
mod discovery;
mod file_notify;
mod finding;
mod folder;
mod inventory;
mod object_key;
mod parse;
mod plan;
mod references;
mod reloader;
mod removal;
mod state;

pub use builtin::{BuiltInFile, write_out};
pub use file_notify::{FileWatcher, folders_of_file};
pub use finding::{Finding, Severity};
pub use folder::{FolderError, PresetSource, Sample, SourceFile, list, read};
pub use object_key::ObjectKey;
pub use parse::{Manifest, ParsedPreset, parse};
pub use plan::{Plan, plan};
pub use reloader::{Presets, PresetsConfig, StartError};
pub use removal::{RemovalReport, remove_preset_objects};
pub use state::{PresetInfo, PresetsState, SyncStatus};
