//! The shell without processes and files: its grammar ([`syntax`]), arithmetic, patterns, `test`, `printf`, and the
//! operations on parameters. Containers execute the syntax trees.

mod arithmetic;
pub mod parameter_operation;
pub mod pattern;
pub mod printf;
mod seq;
pub mod syntax;
pub mod test_expression;

pub use arithmetic::{Variables, arithmetic};
pub use seq::seq;
