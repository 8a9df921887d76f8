//! Text for a terminal: sanitizing, measuring and truncating it, and the formats of ages and
//! amounts.

mod age;
mod amount;
mod first_sentence;
mod sanitize;
mod truncate;

pub(crate) use age::{age, clock_time, human_duration};
pub(crate) use amount::{Amount, ShortTexts, amount_text, resource_label};
pub(crate) use first_sentence::first_sentence;
pub(crate) use sanitize::{sanitize, sanitize_lines};
pub(crate) use truncate::{pad, truncate, truncate_middle, width, wrap, wrap_indented};
