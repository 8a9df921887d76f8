//! Limits of the work of one patch. A patch of allowed size can compare and move the items of lists
//! in quadratic time.

use crate::api_error::ApiError;
use crate::status_reason::StatusReason;

/// Maximum number of list items that one patch compares or moves.
pub const MAX_PATCH_STEPS: usize = 10_000_000;
/// Maximum total size that the `copy` operations of a JSON patch add, in bytes.
pub const MAX_COPIED_BYTES: usize = 3 << 20;

/// The steps that remain to a patch.
#[derive(Debug)]
pub(super) struct PatchSteps(usize);

/// A patch above [`MAX_PATCH_STEPS`].
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("the patch compares or moves more than {MAX_PATCH_STEPS} list items (patch-steps)")]
pub(super) struct TooManySteps;

impl Default for PatchSteps {
    fn default() -> Self {
        Self(MAX_PATCH_STEPS)
    }
}

impl PatchSteps {
    /// Another number of steps than [`MAX_PATCH_STEPS`].
    #[cfg(test)]
    pub(super) fn of(steps: usize) -> Self {
        Self(steps)
    }

    /// Subtracts steps before they are done.
    ///
    /// # Errors
    /// [`TooManySteps`].
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), TooManySteps> {
        self.0 = self.0.checked_sub(steps).ok_or(TooManySteps)?;
        Ok(())
    }
}

impl From<TooManySteps> for ApiError {
    fn from(error: TooManySteps) -> Self {
        let message = format!("Request entity too large: {error}");
        Self::new(413, StatusReason::RequestEntityTooLarge, message)
    }
}
