//! The programs of an image.

mod archive;
mod arguments;
mod awk;
mod context;
mod curl;
mod dispatch;
mod encodings;
mod environment;
mod external;
mod files;
mod find;
mod grep;
mod list;
mod nvidia_smi;
mod printing;
mod processes;
mod python;
mod ray;
mod rsync;
mod sed;
mod system;
mod text;

pub use dispatch::programs;
pub(crate) use dispatch::run_program;
