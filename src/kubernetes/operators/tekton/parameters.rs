//! The values of the parameters of a Task or Pipeline as variables.

use serde_json::{Value, json};

use super::super::child_objects::{fields, items};
use super::super::substitution::{Brackets, Variables};

/// The brackets of Tekton's variables.
pub(super) const BRACKETS: Brackets = Brackets {
    open: "$(",
    close: ")",
};

/// The variables of declared parameters and the values given for them.
pub(super) fn variables(declared: &Value, given: &Value) -> Variables {
    let mut variables = Variables::new();
    let defaults = items(declared).iter().map(|p| (&p["name"], &p["default"]));
    let values = items(given).iter().map(|p| (&p["name"], &p["value"]));
    for (name, value) in defaults.chain(values) {
        let Some(name) = name.as_str().filter(|_| !value.is_null()) else {
            continue;
        };
        for form in [
            format!("params.{name}"),
            format!("params[\"{name}\"]"),
            format!("params['{name}']"),
        ] {
            for (key, value) in fields(value) {
                variables.insert(format!("{form}.{key}"), value.clone());
            }
            for (index, value) in items(value).iter().enumerate() {
                variables.insert(format!("{form}[{index}]"), value.clone());
            }
            let form = match value {
                Value::Array(_) => format!("{form}[*]"),
                _ => form,
            };
            variables.insert(form, value.clone());
        }
    }
    variables
}

/// Adds variables of the context, such as `context.taskRun.name`.
pub(super) fn add_context(variables: &mut Variables, of: &str, name: &str) {
    variables.insert(format!("context.{of}.name"), json!(name));
}

/// The names of declared parameters without a value.
pub(super) fn missing(declared: &Value, given: &Value) -> Vec<String> {
    let has = |name: &Value| items(given).iter().any(|p| p["name"] == *name);
    items(declared)
        .iter()
        .filter(|p| p["default"].is_null() && !has(&p["name"]))
        .filter_map(|p| p["name"].as_str().map(str::to_owned))
        .collect()
}
