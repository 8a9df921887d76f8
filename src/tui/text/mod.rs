//! Text for a terminal: cleaning what came from outside, measuring and cutting it, and saying
//! ages and amounts the way `kubectl` does.
//!
//! Must not know what the text is about.

mod age;
mod amount;
mod clean;
mod cut;
mod sentence;

pub use age::{age, clock_time, human_duration};
pub use amount::{Amount, amount_text, resource_label, signed_text};
pub use clean::{clean, clean_lines};
pub use cut::{cut, cut_middle, pad, width, wrap, wrap_indented};
pub use sentence::first_sentence;
