//! The one source of time, and of randomness.
//!
//! All code reads the time and sleeps through a [`Clock`], so that a lab can run in real time, N
//! times faster (`--speed`), or in virtual time, where waiting costs nothing. Depends on no other
//! crate of the workspace.
//!
//! Virtual time uses tokio's paused clock: inside [`virtual_runtime`] the runtime advances to the
//! next timer whenever all tasks are idle, so long scenarios run in milliseconds and in the same
//! order every time.
//!
//! [`Entropy`] gives UIDs, suffixes of generated names and jitter: seeded in tests and replays, so that a run
//! repeats exactly, and from the operating system otherwise. Secrets (tokens, keys) never come from it.

mod clock;
mod entropy;

pub use clock::{AGE_TOLERANCE, Clock, ClockChanges, SPEED_RANGE, virtual_runtime, whole_seconds};
pub use entropy::Entropy;
