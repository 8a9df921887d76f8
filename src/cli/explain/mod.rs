//! `kueue-lab explain`: why a Workload is or is not admitted.
//!
//! The engine runs over the objects that are in the cluster now, so this works on any cluster whose
//! objects can be read, whichever Kueue runs there.

mod command;
mod explain_workload;
mod load_engine;
mod text;

pub(super) use command::{Args, run};
pub(super) use explain_workload::explain_text;
pub(super) use load_engine::load_engine;
