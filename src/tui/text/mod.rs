//! Text for a terminal: sanitizing, measuring and truncating it, and the formats of ages and
//! amounts.

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
