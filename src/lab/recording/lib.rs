//! Recordings of a cluster: the course of its objects, in memory ([`History`]) and in a file
//! ([`RecordingWriter`], [`read_recording`]; docs/recording.md).
//!
//! [`Recorder`] observes the objects by watches of a `kube::Client`, so it records a lab or any cluster with
//! read-only rights. [`MomentServer`] serves the objects of a moment to clients, such as those of the terminal UI.

mod delta;
mod entry;
mod file_format;
mod history;
mod landmark;
mod moment;
mod moment_server;
mod object_id;
mod object_table;
mod playback;
mod recorded_kind;
mod recorder;
mod recording_error;
mod recording_reader;
mod recording_writer;
mod shared_value;
mod state;

pub use entry::{Change, Entry};
pub use file_format::RecordingHeader;
pub use history::{History, HistoryLimits, SharedHistory};
pub use landmark::{Landmark, LandmarkKind};
pub use moment::{Moment, ObjectChange};
pub use moment_server::MomentServer;
pub use object_id::{ObjectId, ObjectVersion};
pub use playback::{Direction, Playback};
pub use recorded_kind::{RECORDED_KINDS, RecordedKind};
pub use recorder::{NOT_SERVED, Recorder, RecorderConfig, RecordingSummary};
pub use recording_error::RecordingError;
pub use recording_reader::{Recording, is_recording, read_recording};
pub use recording_writer::RecordingWriter;
pub use shared_value::SharedValue;
