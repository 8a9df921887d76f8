//! [`ResponseBytes`]: the bytes of a response that count for the limits of its user until it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::user_limit::UserPermit;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The size above which a response counts, in bytes.
pub(crate) const LARGE_RESPONSE: usize = 1 << 20;

/// The bytes of one response. Clones share them; they are free when the last one is dropped.
#[derive(Clone, Debug)]
pub(crate) struct ResponseBytes {
    permit: Arc<Mutex<UserPermit>>,
    per_user: usize,
    is_refused: Arc<AtomicBool>,
}

/// A response is above the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AboveLimit;

impl ResponseBytes {
    /// No bytes; `per_user` is the limit, for the error.
    pub(crate) fn new(permit: UserPermit, per_user: usize) -> Self {
        Self {
            permit: Arc::new(Mutex::new(permit)),
            per_user,
            is_refused: Arc::default(),
        }
    }

    /// Holds the bytes of a response that is being encoded, as far as they are known.
    ///
    /// # Errors
    /// [`AboveLimit`]: it must not be encoded further.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), AboveLimit> {
        if bytes <= LARGE_RESPONSE {
            return Ok(());
        }
        match self.permit.lock().hold_at_least(bytes) {
            true => Ok(()),
            false => {
                self.is_refused.store(true, Ordering::Relaxed);
                Err(AboveLimit)
            }
        }
    }

    /// Holds the bytes of an encoded response in place of those that were reserved.
    ///
    /// # Errors
    /// [`AboveLimit`]
    pub(crate) fn set(&self, bytes: usize) -> Result<(), AboveLimit> {
        self.reserve(bytes)?;
        let counted = if bytes > LARGE_RESPONSE { bytes } else { 0 };
        self.permit.lock().shrink_to(counted);
        Ok(())
    }

    /// Whether a reservation failed.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// The error of a response above the limits: 429.
    pub(crate) fn error(&self) -> ApiError {
        let message = format!(
            "Too many requests, please try again later: the responses that are not read yet are \
             above the limit (response-bytes, {} bytes per user)",
            self.per_user
        );
        ApiError::new(429, StatusReason::TooManyRequests, message)
    }
}

#[cfg(test)]
mod tests {
    use super::super::user_limit::UserLimit;
    use super::*;

    #[test]
    fn reserved_bytes_become_those_of_the_response() {
        let limit = UserLimit::new(3 * LARGE_RESPONSE, 100 * LARGE_RESPONSE);
        let bytes = || ResponseBytes::new(limit.permit("a"), 3 * LARGE_RESPONSE);
        let first = bytes();
        assert_eq!(first.reserve(LARGE_RESPONSE), Ok(()));
        assert_eq!(first.reserve(2 * LARGE_RESPONSE), Ok(()));
        assert_eq!(first.reserve(3 * LARGE_RESPONSE), Ok(()));
        let second = bytes();
        assert_eq!(second.reserve(LARGE_RESPONSE + 1), Err(AboveLimit));
        assert!(second.is_refused() && !first.is_refused());
        assert_eq!(first.set(LARGE_RESPONSE + 1), Ok(()));
        let second = bytes();
        assert_eq!(second.reserve(LARGE_RESPONSE + 1), Ok(()));
        let body = second.clone();
        drop(second);
        assert_eq!(bytes().reserve(2 * LARGE_RESPONSE), Err(AboveLimit));
        drop((first, body));
        assert_eq!(bytes().reserve(3 * LARGE_RESPONSE), Ok(()));
    }
}
