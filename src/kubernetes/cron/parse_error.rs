//! [`ParseError`]: an invalid schedule.

/// An invalid schedule, worded as in robfig/cron.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub(crate) String);
