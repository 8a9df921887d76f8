//! Compares results with the expected values of a case.

use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::resources::Decimal;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Describes the differences of two values by path; `None` if they are equal. Absent, null and empty are
/// equal.
pub(crate) fn difference(got: &impl Serialize, want: &impl Serialize) -> Result<(), String> {
    let (got, want) = (to_json(got), to_json(want));
    let mut lines = Vec::new();
    walk("", &got, &want, &mut lines);
    if lines.is_empty() {
        Ok(())
    } else {
        Err(lines.join("\n"))
    }
}

fn to_json(value: &impl Serialize) -> Value {
    normalize(serde_json::to_value(value).unwrap(), "")
}

/// Maps of quantities, which are compared by value.
const QUANTITIES: &[&str] = &[
    "requests",
    "limits",
    "resourceUsage",
    "resources",
    "overhead",
    "consumedResources",
    "quantities",
];

fn normalize(value: Value, key: &str) -> Value {
    match value {
        Value::Object(map) => {
            let normal = map.into_iter().map(|(k, v)| {
                let v = match (&v, QUANTITIES.contains(&key)) {
                    (Value::String(text), true) => quantity(text),
                    _ => normalize(v, &k),
                };
                (k, v)
            });
            Value::Object(normal.filter(|(_, v)| !is_empty(v)).collect())
        }
        Value::Array(list) => list.into_iter().map(|v| normalize(v, key)).collect(),
        other => other,
    }
}

fn quantity(text: &str) -> Value {
    match Decimal::parse(text) {
        Ok(decimal) => Value::String(decimal.to_string()),
        Err(_) => Value::String(text.to_owned()),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn walk(path: &str, got: &Value, want: &Value, lines: &mut Vec<String>) {
    match (got, want) {
        (Value::Object(g), Value::Object(w)) => {
            let mut keys: Vec<&String> = g.keys().chain(w.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let none = Value::Null;
                let (g, w) = (g.get(key).unwrap_or(&none), w.get(key).unwrap_or(&none));
                walk(&format!("{path}.{key}"), g, w, lines);
            }
        }
        (Value::Array(g), Value::Array(w)) if g.len() == w.len() => {
            for (i, (g, w)) in g.iter().zip(w).enumerate() {
                walk(&format!("{path}[{i}]"), g, w, lines);
            }
        }
        _ if is_empty(got) && is_empty(want) => {}
        _ if got == want => {}
        _ => lines.push(format!("  {path}\n    got  {got}\n    want {want}")),
    }
}

/// Workloads by name and conditions by type, without fields that are not compared.
pub(crate) fn workloads<'a>(list: impl IntoIterator<Item = &'a Workload>) -> Value {
    let mut map = Map::new();
    for wl in list {
        let mut wl = wl.clone();
        wl.metadata.resource_version = None;
        wl.metadata.creation_timestamp = None;
        for check in &mut wl.status.admission_checks {
            check.last_transition_time = None;
        }
        let name = format!(
            "{}/{}",
            wl.metadata.namespace.as_deref().unwrap_or_default(),
            wl.metadata.name.as_deref().unwrap_or_default()
        );
        let conditions: Map<String, Value> = std::mem::take(&mut wl.status.conditions)
            .into_iter()
            .map(|c| (c.type_.clone(), serde_json::to_value(c).unwrap()))
            .collect();
        let mut value = serde_json::to_value(&wl).unwrap();
        value["status"]["conditions"] = Value::Object(conditions);
        map.insert(name, value);
    }
    Value::Object(map)
}

/// A list regardless of order.
pub(crate) fn as_set(value: &Value) -> Value {
    let mut list: Vec<Value> = value.as_array().cloned().unwrap_or_default();
    list.sort_by_key(ToString::to_string);
    json!(list)
}

/// Collects the differences of several parts.
#[derive(Default)]
pub(crate) struct Differences(Vec<String>);

impl Differences {
    /// Compares one part.
    pub(crate) fn part(&mut self, name: &str, got: &impl Serialize, want: &impl Serialize) {
        if let Err(lines) = difference(got, want) {
            self.0.push(format!(" {name}:\n{lines}"));
        }
    }

    /// All differences.
    pub(crate) fn finish(self) -> Result<(), String> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.0.join("\n"))
        }
    }
}

/// Compares a result of one part.
pub(crate) fn compare_part(name: &str, got: Value, want: &Value) -> Result<(), String> {
    let mut found = Differences::default();
    found.part(name, &got, want);
    found.finish()
}
