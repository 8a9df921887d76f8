//! Label selectors: `app=a,tier in (x,y),!old`.

mod lexer;
mod parser;
mod selector;

pub use selector::{LabelSelector, Operator, Requirement};
