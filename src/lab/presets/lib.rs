//! The presets folder: watch, parse, validate, diff, apply, prune, and keep the last good state.
//! Reaches the cluster only through a `kube::Client`.
//!
//! A preset is a sub-folder of YAML files; the files of the active preset are watched. On each save all
//! files are parsed and validated, a server-side dry run checks every change, changed objects are
//! applied, and objects removed from the files are pruned. On an error the last good state stays
//! applied, and [`PresetsState`] reports the findings. The settings of a preset (configuration and
//! nodes) are checked with its objects and applied before them, by [`LabSettings`]. Depends on `api` and `yaml`, never on the
//! controller, the machines or the API server.

mod api_client;
mod apply;
mod apply_diff;
mod builtin;
mod check_preset;
mod cluster_manifest;
mod cluster_objects;
mod clusters_file;
mod configuration_check;
mod discovery;
mod existing_objects;
mod file_notify;
mod finding;
mod folder;
mod inventory;
mod lab_settings;
mod lint;
mod missing_namespaces;
mod namespace_contents;
mod object_write;
mod parse;
mod preset_label;
mod preset_settings;
mod presets;
mod presets_snapshot;
mod quantity_spelling;
mod references;
mod reloader;
mod removal;
mod resource_key;
mod save_review;
mod state;
mod state_publisher;
mod unmanaged_objects;

pub use apply::{ApplyOptions, SCENARIO_MANAGER, TakenOverFields};
pub use apply_diff::ApplyDiff;
pub use builtin::{BuiltInFile, write_out};
pub use check_preset::check_preset;
pub use clusters_file::{ExistingCluster, MAX_WORKERS, WorkersOfPreset, read_workers};
pub use configuration_check::load_configuration;
pub use existing_objects::{ExistingObjects, ListError};
pub use file_notify::{FileWatcher, folders_of_file};
pub use finding::{Finding, Severity};
pub use folder::{FolderError, PresetSource, Sample, SourceFile, list, read, read_settings};
pub use lab_settings::{BaseConfiguration, IgnoredSettings, LabSettings, SchedulingHold};
pub use lint::{LINT_NAMES, LabNode};
pub use missing_namespaces::missing_namespaces;
pub use object_write::ObjectWrite;
pub use parse::{Manifest, ParsedPreset, parse};
pub use preset_label::PRESET_LABEL;
pub use preset_settings::PresetSettings;
pub use presets::{Presets, PresetsConfig, StartError};
pub use presets_snapshot::PresetsSnapshot;
pub use quantity_spelling::keep_quantity_spelling;
pub use references::check_references;
pub use removal::{RemovalError, RemovalReport, remove_preset_objects};
pub use resource_key::ResourceKey;
pub use save_review::{ReviewError, ReviewedSave, SaveReview, SavedPreset};
pub use state::{PresetInfo, PresetsState, SyncStatus};
