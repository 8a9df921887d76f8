//! CEL expressions with the limits of cel-go: size, nesting and runtime cost.
//!
//! Must not depend on any other crate of the lab.

mod call_cost;
mod cost;
mod device_selectors;
mod instrument;
mod parse;
mod program;
mod selected_fields;
mod size_charge;

pub(crate) use cost::PER_CALL_LIMIT;
pub use cost::{Evaluation, LIMIT_EXCEEDED, function_error, within_allowance};
pub use device_selectors::{
    CelDevice, CelSelector, CompileSelectorError, Evaluator, SelectorError,
};
pub use instrument::REQUEST_RESOURCE;
pub use parse::ParseError;
pub use program::{Program, base_context};
pub use selected_fields::SelectedFields;
pub use size_charge::is_qualified;
