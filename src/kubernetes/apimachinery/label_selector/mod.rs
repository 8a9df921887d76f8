//! Label selectors: `app=a,tier in (x,y),!old`.

mod lexer;
mod parser;
mod selector;

pub use kueue_lab_component_helpers::requirement::{Operator, Requirement};
pub use selector::LabelSelector;
