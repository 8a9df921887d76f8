//! Task YAML, parsed strictly, with positions of errors.

mod accelerators;
mod amount;
mod overrides;
mod parse;
mod recovery;
mod resources;

pub use accelerators::Accelerator;
pub use amount::Memory;
pub use overrides::TaskOverrides;
pub use parse::{Task, TaskError};
pub use recovery::{JobRecovery, RecoveryStrategy};
pub use resources::TaskResources;

#[cfg(test)]
mod tests;
