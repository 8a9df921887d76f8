//! Text for a terminal: cleaning what came from outside, measuring and cutting it, and saying
//! ages and amounts the way `kubectl` does.
//!
//! Must not know what the text is about.

mod age;
mod amount;
mod first_sentence;
mod sanitize;
mod truncate;

pub use age::{age, clock_time, human_duration};
pub use amount::{Amount, amount_text, resource_label, signed_text};
pub use first_sentence::first_sentence;
pub use sanitize::{sanitize, sanitize_lines};
pub use truncate::{pad, truncate, truncate_middle, width, wrap, wrap_indented};
