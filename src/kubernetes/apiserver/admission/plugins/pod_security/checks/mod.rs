//! The checks of the Pod Security Standards, with the versions that they changed in.

mod baseline;
mod check;
mod containers;
mod restricted;
mod seccomp;
#[cfg(test)]
mod tests;

pub(super) use baseline::BASELINE;
pub(super) use check::{Check, Violation};
pub(super) use restricted::RESTRICTED;
