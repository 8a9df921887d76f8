//! [`compute`]: an expensive function.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Calls a function that may take long. On a runtime with several threads the other tasks of this
/// thread move to another one meanwhile.
pub fn compute<T>(function: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(function),
        _ => function(),
    }
}
