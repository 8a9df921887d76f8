//! Reads the tables.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_engine::Gates;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A table: the cases of one upstream test function.
pub(crate) struct Suite {
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Case {
    pub suite: String,
    pub name: String,
    #[serde(default)]
    pub variant: String,
    #[serde(default)]
    pub gates: BTreeMap<String, bool>,
    #[serde(default)]
    also_with_gates: Vec<BTreeMap<String, bool>>,
    #[serde(default)]
    pub config: Value,
    #[serde(default)]
    now: Option<Timestamp>,
    #[serde(default)]
    objects: Value,
    #[serde(default)]
    pub want: Value,
    #[serde(default)]
    pub observed: Value,
    /// The complete JSON of the case.
    #[serde(skip)]
    raw: Value,
}

impl Suite {
    /// Reads a table; `None` if the file does not exist.
    pub(crate) fn load(directory: &Path, path: &str) -> Option<Suite> {
        let text = std::fs::read_to_string(directory.join(format!("{path}.json"))).ok()?;
        let table: Value = serde_json::from_str(&text).unwrap();
        let case = |raw: &Value| Case {
            raw: raw.clone(),
            ..serde_json::from_value(raw.clone()).unwrap()
        };
        let cases = table["cases"].as_array().unwrap();
        Some(Suite {
            cases: cases.iter().map(case).collect(),
        })
    }
}

impl Case {
    /// The id of the case in `known-gaps.txt`.
    pub(crate) fn id(&self) -> String {
        let mut id = format!("{} | {}", self.suite, self.name.replace('\n', " "));
        if !self.variant.is_empty() {
            id.push_str(&format!(" | {}", self.variant));
        }
        id
    }

    /// One case per setting of feature gates.
    pub(crate) fn with_each_gate_setting(&self) -> Vec<Case> {
        let mut all = vec![self.clone()];
        for gates in &self.also_with_gates {
            let gates = gates.clone();
            all.push(Case {
                gates,
                ..self.clone()
            });
        }
        all
    }

    /// The case with the feature gates it runs with.
    pub(crate) fn raw(&self) -> Value {
        let mut raw = self.raw.clone();
        raw["gates"] = serde_json::json!(self.gates);
        raw
    }

    /// The feature gates of the engine.
    pub(crate) fn gates(&self) -> Gates {
        gates(self.gates.iter().map(|(name, &on)| (name.as_str(), on)))
    }

    /// The current time of the case.
    pub(crate) fn now(&self) -> Timestamp {
        let fixed = || "2026-03-02T12:00:00Z".parse().unwrap();
        self.now.unwrap_or_else(fixed)
    }

    /// The objects of a kind.
    pub(crate) fn objects<T: DeserializeOwned>(&self, kind: &str) -> Vec<Arc<T>> {
        let list = &self.objects[kind];
        if list.is_null() {
            return Vec::new();
        }
        let list: Vec<Value> = serde_json::from_value(list.clone()).unwrap();
        list.iter().map(|v| Arc::new(read(v))).collect()
    }

    /// An optional object.
    pub(crate) fn optional<T: DeserializeOwned>(&self, kind: &str) -> Option<T> {
        let value = &self.objects[kind];
        (!value.is_null()).then(|| read(value))
    }

    /// An object.
    pub(crate) fn object<T: DeserializeOwned>(&self, kind: &str) -> T {
        read(&self.objects[kind])
    }
}

/// Deserializes a part of a case.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> T {
    let mut value = value.clone();
    fix_go_encoding(&mut value);
    serde_json::from_value(value).unwrap()
}

/// Adapts Go's JSON: zero times, objects without a kind, and pod sets without a name, which an API server
/// rejects.
fn fix_go_encoding(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("lastTransitionTime").is_some_and(Value::is_null) {
                map.insert(
                    "lastTransitionTime".to_owned(),
                    "0001-01-01T00:00:00Z".into(),
                );
            }
            for key in ["apiVersion", "kind"] {
                if map.get(key).is_some_and(|v| v == "") {
                    map.remove(key);
                }
            }
            for set in map
                .get_mut("podSets")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                if let Value::Object(set) = set {
                    set.entry("name").or_insert("".into());
                }
            }
            map.values_mut().for_each(fix_go_encoding);
        }
        Value::Array(list) => list.iter_mut().for_each(fix_go_encoding),
        _ => {}
    }
}

/// Deserializes an optional part of a case.
pub(crate) fn read_or_default<T: DeserializeOwned + Default>(value: &Value) -> T {
    if value.is_null() {
        return T::default();
    }
    read(value)
}

/// An optional list of strings.
pub(crate) fn string_list(value: &Value) -> Vec<String> {
    read_or_default(value)
}

/// The gates of the engine: the defaults, changed by name. Gates that the lab does not have are ignored.
pub(crate) fn gates<'a>(given: impl Iterator<Item = (&'a str, bool)>) -> Gates {
    let known = given.filter_map(|(name, on)| Some((Feature::named(name)?, on)));
    let gates = known.fold(FeatureGates::default(), |gates, (feature, on)| {
        gates.with(feature, on)
    });
    Gates::from(&gates)
}
