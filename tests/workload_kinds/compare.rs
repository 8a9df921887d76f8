//! Compares an outcome with the recording, by the rules of `compare.py` beside the recordings.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::recording_gaps;

/// A value that differs from the recording.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    step: String,
    path: String,
    kueue: Option<Value>,
    ours: Option<Value>,
}

impl Difference {
    /// A case that could not be replayed.
    pub(crate) fn not_replayed(error: String) -> Self {
        Self {
            step: "setup".to_owned(),
            path: "setup".to_owned(),
            kueue: None,
            ours: Some(error.into()),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| match value {
            None => "<absent>".to_owned(),
            Some(value) => {
                let text = value.to_string();
                match text.char_indices().nth(400) {
                    Some((end, _)) => format!("{}...", &text[..end]),
                    None => text,
                }
            }
        };
        let (kueue, ours) = (show(&self.kueue), show(&self.ours));
        write!(f, "step {} {}", self.step, self.path)?;
        write!(f, "\n      Kueue: {kueue}\n      ours:  {ours}")
    }
}

/// The differences of all steps, except at the paths in `unstable`, which differ between two recordings.
pub(crate) fn compare(kueue: &Value, ours: &Value, unstable: &Value) -> Vec<Difference> {
    let mut kueue = kueue.clone();
    recording_gaps::correct(&mut kueue);
    let steps = |outcome: &Value| outcome["steps"].as_array().cloned().unwrap_or_default();
    let (mut theirs, mut own) = (Map::new(), Map::new());
    let mut out = Vec::new();
    let our_steps = steps(ours);
    for (i, step) in steps(&kueue).iter().enumerate() {
        let id = step["id"].as_str().unwrap_or_default();
        let mut found = Differences::new(id);
        let Some(our_step) = our_steps.get(i) else {
            found.add("steps", Some(&"present".into()), None);
            out.extend(found.list);
            break;
        };
        apply(&mut theirs, &step["objects"]);
        apply(&mut own, &our_step["objects"]);
        let operations = |step: &Value| -> Value {
            let all = step["ops"].as_array().into_iter().flatten();
            all.map(with_sorted_errors).collect()
        };
        found.walk("ops", &operations(step), &operations(our_step));
        found.walk("objects", &theirs.clone().into(), &own.clone().into());
        found.events(&step["events"], &our_step["events"]);
        let skipped = unstable[id].as_array().into_iter().flatten();
        let skipped: Vec<&str> = skipped.filter_map(Value::as_str).collect();
        out.extend(found.list.into_iter().filter(|difference| {
            let below = |path: &&str| {
                let rest = difference.path.strip_prefix(*path);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            !skipped.iter().any(below)
        }));
    }
    out
}

/// Adds the changes of a step to the objects before it.
fn apply(objects: &mut Map<String, Value>, changes: &Value) {
    for (key, change) in changes.as_object().into_iter().flatten() {
        match (change, objects.get_mut(key)) {
            (Value::Null, _) => {
                objects.remove(key);
            }
            (Value::Object(sections), Some(Value::Object(object)))
                if !sections.contains_key("kind") =>
            {
                for (section, value) in sections {
                    match value {
                        Value::Null => object.remove(section),
                        value => object.insert(section.clone(), value.clone()),
                    };
                }
            }
            (change, _) => {
                objects.insert(key.clone(), change.clone());
            }
        }
    }
}

/// The result of an operation with the errors of a refusal in order of their text: several of upstream's
/// lists come from maps.
fn with_sorted_errors(result: &Value) -> Value {
    static LIST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)^(.*denied the request: )\[(.*)\]$").unwrap());
    static NEXT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r", (?:spec|metadata|job)[.\[]").unwrap());
    let mut result = result.clone();
    let message = result["error"]["message"].as_str().unwrap_or_default();
    if let Some(found) = LIST.captures(message) {
        let (head, list) = (&found[1], &found[2]);
        let mut errors = Vec::new();
        let mut start = 0;
        for next in NEXT.find_iter(list) {
            errors.push(&list[start..next.start()]);
            start = next.start() + 2;
        }
        errors.push(&list[start..]);
        errors.sort_unstable();
        let sorted = format!("{head} | {}", errors.join(" | "));
        result["error"]["message"] = sorted.into();
    }
    result
}

struct Differences<'a> {
    step: &'a str,
    list: Vec<Difference>,
}

impl<'a> Differences<'a> {
    fn new(step: &'a str) -> Self {
        Self {
            step,
            list: Vec::new(),
        }
    }

    fn add(&mut self, path: &str, kueue: Option<&Value>, ours: Option<&Value>) {
        self.list.push(Difference {
            step: self.step.to_owned(),
            path: path.to_owned(),
            kueue: kueue.cloned(),
            ours: ours.cloned(),
        });
    }

    fn walk(&mut self, path: &str, kueue: &Value, ours: &Value) {
        match (kueue, ours) {
            (Value::Object(a), Value::Object(b)) => {
                let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
                for key in keys {
                    let path = format!("{path}.{key}");
                    match (a.get(key), b.get(key)) {
                        (Some(a), Some(b)) => self.walk(&path, a, b),
                        (a, b) => self.add(&path, a, b),
                    }
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    self.walk(&format!("{path}[{i}]"), a, b);
                }
            }
            (a, b) if a != b => self.add(path, Some(a), Some(b)),
            _ => {}
        }
    }

    /// Compares Events as sets: Events of the same object and reason are folded into one.
    fn events(&mut self, kueue: &Value, ours: &Value) {
        let list = |events: &Value| events.as_array().cloned().unwrap_or_default();
        let (kueue, ours) = (list(kueue), list(ours));
        for event in kueue.iter().filter(|event| !ours.contains(event)) {
            self.add("events", Some(event), None);
        }
        for event in ours.iter().filter(|event| !kueue.contains(event)) {
            self.add("events", None, Some(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(kueue: Value, ours: Value, unstable: Value) -> Vec<String> {
        let outcome = |steps: Value| json!({"steps": steps});
        let found = compare(&outcome(kueue), &outcome(ours), &unstable);
        found.into_iter().map(|d| d.path).collect()
    }

    #[test]
    fn changes_of_sections_accumulate() {
        let object = json!({"kind": "Pod", "spec": {"a": 1}, "status": {}});
        let first = json!({"id": "1", "objects": {"Pod/a": object}});
        let kueue = json!([first, {"id": "2", "objects": {"Pod/a": {"spec": {"a": 2}}}}]);
        let ours = json!([first, {"id": "2", "objects": {"Pod/a": {"spec": {"a": 3}}}}]);
        let differs = "objects.Pod/a.spec.a";
        assert_eq!(paths(kueue.clone(), ours.clone(), json!({})), [differs]);
        let unstable = json!({"2": ["objects.Pod/a.spec"]});
        assert_eq!(paths(kueue, ours, unstable), Vec::<String>::new());
    }

    #[test]
    fn order_of_errors_and_events_is_not_compared() {
        let step = |message: &str, events: Value| json!([{"id": "1", "ops": [{"error": {"message": message}}], "events": events}]);
        let a = step(
            "w denied the request: [spec.a: x, y, metadata.b: z]",
            json!([1, 2, 2]),
        );
        let b = step(
            "w denied the request: [metadata.b: z, spec.a: x, y]",
            json!([2, 1]),
        );
        assert_eq!(paths(a, b, json!({})), Vec::<String>::new());
    }
}
