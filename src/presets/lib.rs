//! The presets folder: watch, parse, validate, diff, apply, prune, and keep the last good state.
//! Reaches the cluster only through a `kube::Client`.
//!
//! A preset is a sub-folder of YAML files; the one in force is watched. Each save goes the same way:
//! read all files, refuse the whole when anything is wrong, try everything on the API server without
//! effect, apply what changed, take away what left the files. Whatever goes wrong, what was in force
//! stays in force and [`State`] says what and where. Knows `api` and `yaml`; never the controller,
//! the machines or the API server.

mod actor;
mod applying;
mod builtin;
mod clearing;
mod document;
mod finding;
mod folder;
mod inventory;
mod key;
mod kinds;
mod plan;
mod references;
mod remote;
mod state;
mod watch;

pub use actor::{Presets, PresetsConfig, StartError};
pub use builtin::{BuiltIn, write_out};
pub use clearing::{Cleared, clear};
pub use document::{Manifest, Parsed, parse};
pub use finding::{Finding, Severity};
pub use folder::{FolderError, Sample, Source, SourceFile, list, read};
pub use key::ObjectKey;
pub use plan::{Plan, plan};
pub use state::{Force, PresetInfo, State};
pub use watch::{Watch, folders_of_file};
