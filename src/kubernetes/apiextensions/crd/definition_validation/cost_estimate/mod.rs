//! Estimated cost of validation rules, which a CustomResourceDefinition must not exceed: cel-go's
//! `checker/cost.go`, and `apiextensions/validation/cel_validation.go`.

mod decl_type;
mod estimate;
mod function_cost;
mod rule_costs;
mod size;

pub(super) use rule_costs::validate;
