//! The modules that SkyPilot's generated programs import.

mod host;
mod jobs;
mod logs;
mod standard;

pub(crate) use host::Modules;
