//! Parts of the JSON schema of test files that are not derived: words, and fields of which there is one.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::expect::STATUSES;

/// The words, and null for no word.
pub(crate) fn or_null(words: &[&str]) -> Value {
    words
        .iter()
        .copied()
        .map(Value::from)
        .chain([Value::Null])
        .collect()
}

/// The state of a managed job, in any case.
pub(crate) struct ManagedJobState;

impl JsonSchema for ManagedJobState {
    fn schema_name() -> Cow<'static, str> {
        "ManagedJobState".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = STATUSES.map(|status| status.as_str());
        let in_any_case = |name: &str| -> String {
            let letters = name.chars();
            letters
                .map(|c| format!("[{}{}]", c, c.to_ascii_lowercase()))
                .collect()
        };
        let pattern = names.map(in_any_case).join("|");
        json_schema!({"anyOf": [{"enum": names}, {"type": "string", "pattern": format!("^({pattern})$")}]})
    }
}

/// Fields of a step that are neither a start nor an action.
const NO_ACTIONS: [&str; 3] = ["say", "refused", "expect"];
/// The starts of a step.
const STARTS: [&str; 3] = ["at", "after", "when"];
/// Fields of an expectation that say more about another one.
const DETAILS: [&str; 9] = [
    "status",
    "recoveries",
    "conditions",
    "fields",
    "count",
    "absent",
    "newerThan",
    "within",
    "holds",
];

/// Permits at most one start and one action in the schema of a step.
pub(crate) fn one_start_and_action(step: &mut Schema) {
    let actions = fields_except(step, &[&NO_ACTIONS[..], &STARTS[..]].concat());
    let starts = STARTS.map(str::to_owned);
    let parts = [&starts[..], &actions[..]].map(|fields| {
        let none: serde_json::Map<String, Value> = fields
            .iter()
            .map(|field| (field.clone(), json!({"type": "null"})))
            .collect();
        let mut alternatives = alternatives(fields);
        alternatives.push(json!({"properties": none}));
        json!({"oneOf": alternatives})
    });
    step.insert("allOf".to_owned(), json!(parts));
}

/// Requires one expectation in the schema of an entry of `expect`.
pub(crate) fn one_expectation(expectation: &mut Schema) {
    let fields = fields_except(expectation, &DETAILS);
    expectation.insert("oneOf".to_owned(), json!(alternatives(&fields)));
}

/// Requires one queue configuration in the schema of a test file.
pub(crate) fn one_configuration(file: &mut Schema) {
    let fields = ["preset", "queues"].map(str::to_owned);
    file.insert("oneOf".to_owned(), json!(alternatives(&fields)));
}

/// The properties of a schema except some.
fn fields_except(schema: &Schema, others: &[&str]) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flatten().map(|(name, _)| name);
    let names = names.filter(|name| !others.contains(&name.as_str()));
    names.cloned().collect()
}

/// For each field, the schema of an object that has it; null is no value.
fn alternatives(fields: &[String]) -> Vec<Value> {
    let of_field = |field: &String| json!({"required": [field], "properties": {field: {"not": {"type": "null"}}}});
    fields.iter().map(of_field).collect()
}
