//! Descriptions of objects in the format of `kubectl describe`: fields as an indented list, then
//! Events.

use jiff::Timestamp;
use serde_json::Value;

use super::model::event::EventRow;
use super::text::{age, pad};

/// Columns of a label at the top level.
const LABEL: usize = 14;

/// Describes an object.
pub(super) fn describe(object: &Value, events: &[EventRow], now: Timestamp) -> String {
    let mut out = Description::default();
    let meta = &object["metadata"];
    out.pair("Name", &scalar(&meta["name"]));
    if meta["namespace"].is_string() {
        out.pair("Namespace", &scalar(&meta["namespace"]));
    }
    out.map("Labels", &meta["labels"]);
    out.map("Annotations", &meta["annotations"]);
    out.pair("API Version", &scalar(&object["apiVersion"]));
    out.pair("Kind", &scalar(&object["kind"]));
    for (key, value) in object.as_object().into_iter().flatten() {
        match key.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => out.tree(0, "Metadata", &remaining_metadata(value)),
            key => out.tree(0, &title(key), value),
        }
    }
    out.events(events, now);
    out.text
}

/// The other metadata.
fn remaining_metadata(meta: &Value) -> Value {
    let mut rest = meta.clone();
    if let Some(map) = rest.as_object_mut() {
        map.retain(|key, _| {
            !matches!(
                key.as_str(),
                "name" | "namespace" | "labels" | "annotations"
            )
        });
    }
    rest
}

#[derive(Default)]
struct Description {
    text: String,
}

impl Description {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn pair(&mut self, label: &str, value: &str) {
        let label = if label.is_empty() {
            String::new()
        } else {
            format!("{label}:")
        };
        self.line(&format!("{}{value}", pad(&label, LABEL, false)));
    }

    /// Writes a map, one entry on each line.
    fn map(&mut self, label: &str, map: &Value) {
        let pairs = map.as_object().into_iter().flatten();
        let mut label = label;
        for (key, value) in pairs {
            self.pair(label, &format!("{key}={}", scalar(value)));
            label = "";
        }
        if !label.is_empty() {
            self.pair(label, "<none>");
        }
    }

    /// Writes a field and its value.
    fn tree(&mut self, depth: usize, label: &str, value: &Value) {
        let lead = "  ".repeat(depth);
        match value {
            Value::Object(map) => {
                self.line(&format!("{lead}{label}:"));
                for (key, value) in map {
                    self.tree(depth + 1, &title(key), value);
                }
            }
            Value::Array(items) => {
                self.line(&format!("{lead}{label}:"));
                for item in items {
                    self.item(depth + 1, item);
                }
            }
            one => self.line(&format!("{lead}{label}:  {}", scalar(one))),
        }
    }

    /// Writes an item of a list.
    fn item(&mut self, depth: usize, item: &Value) {
        let lead = "  ".repeat(depth);
        match item {
            Value::Object(map) => {
                let mut first = true;
                for (key, value) in map {
                    let mark = if first { "- " } else { "  " };
                    first = false;
                    match value {
                        Value::Object(_) | Value::Array(_) => {
                            self.line(&format!("{lead}{mark}{}:", title(key)));
                            self.nested(depth + 2, value);
                        }
                        one => {
                            self.line(&format!("{lead}{mark}{}:  {}", title(key), scalar(one)));
                        }
                    }
                }
            }
            Value::Array(_) => self.nested(depth + 1, item),
            one => self.line(&format!("{lead}{}", scalar(one))),
        }
    }

    /// Writes the entries of a map or list.
    fn nested(&mut self, depth: usize, value: &Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    self.tree(depth, &title(key), value);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.item(depth, item);
                }
            }
            _ => {}
        }
    }

    fn events(&mut self, events: &[EventRow], now: Timestamp) {
        if events.is_empty() {
            self.pair("Events", "<none>");
            return;
        }
        self.line("Events:");
        let reasons = events
            .iter()
            .map(|e| e.reason.len())
            .max()
            .unwrap_or(0)
            .max(6);
        let sources = events
            .iter()
            .map(|e| e.source.len())
            .max()
            .unwrap_or(0)
            .max(4);
        let row = |kind: &str, reason: &str, age: &str, from: &str, message: &str| {
            format!(
                "  {}  {}  {}  {}  {message}",
                pad(kind, 7, false),
                pad(reason, reasons, false),
                pad(age, 12, false),
                pad(from, sources, false)
            )
        };
        self.line(&row("Type", "Reason", "Age", "From", "Message"));
        for e in events {
            let kind = if e.warning { "Warning" } else { "Normal" };
            let mut when = age(now, Some(e.at));
            if e.count > 1 {
                when = format!("{when} (x{})", e.count);
            }
            self.line(&row(kind, &e.reason, &when, &e.source, &e.message));
        }
    }
}

/// A scalar value as text.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<none>".to_owned(),
        other => other.to_string(),
    }
}

/// `podSetAssignments` as `Pod Set Assignments`.
fn title(key: &str) -> String {
    // Label keys and resource names are not changed.
    if key.contains(['/', '.', '-', ' ']) {
        return key.to_owned();
    }
    let mut out = String::new();
    for (n, c) in key.chars().enumerate() {
        if n == 0 {
            out.extend(c.to_uppercase());
        } else {
            if c.is_uppercase() && !out.ends_with(char::is_uppercase) {
                out.push(' ');
            }
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_reads_as_kubectl_describes_it() {
        let object = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "lq", "namespace": "ml", "labels": {"a": "b", "c": "d"}, "uid": "u"},
            "spec": {"clusterQueue": "cq", "list": [{"name": "x", "deep": {"nominalQuota": 3}}, "y"]},
            "status": {"pendingWorkloads": 0},
        });
        let now: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let event = EventRow {
            reason: "Made".to_owned(),
            message: "It was made".to_owned(),
            source: "me".to_owned(),
            count: 2,
            at: "2026-03-02T11:59:00Z".parse().unwrap(),
            ..EventRow::default()
        };
        let lines = [
            "Name:         lq",
            "Namespace:    ml",
            "Labels:       a=b",
            "              c=d",
            "Annotations:  <none>",
            "API Version:  kueue.x-k8s.io/v1beta2",
            "Kind:         LocalQueue",
            "Metadata:",
            "  Uid:  u",
            "Spec:",
            "  Cluster Queue:  cq",
            "  List:",
            "    - Deep:",
            "        Nominal Quota:  3",
            "      Name:  x",
            "    y",
            "Status:",
            "  Pending Workloads:  0",
            "Events:",
            "  Type     Reason  Age           From  Message",
            "  Normal   Made    60s (x2)      me    It was made",
            "",
        ];
        assert_eq!(describe(&object, &[event], now), lines.join("\n"));
    }
}
