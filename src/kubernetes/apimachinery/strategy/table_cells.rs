//! Table cells shared by several kinds.

use jiff::Timestamp;
use serde_json::Value;

use kueue_lab_duration::human_duration;
use kueue_lab_json::ValueExt;

/// Age of the object, as in the AGE column of `kubectl get`.
pub fn age_cell(object: &Value, now: Timestamp) -> Value {
    translate_timestamp_since(object.at("/metadata/creationTimestamp"), now).into()
}

/// Time since an RFC 3339 timestamp in short form; `<unknown>` if unset.
pub fn translate_timestamp_since(instant: &Value, now: Timestamp) -> String {
    match instant.as_str().and_then(|s| s.parse::<Timestamp>().ok()) {
        // The difference is truncated to whole seconds.
        Some(t) => human_duration(now.duration_since(t).as_secs()),
        None => "<unknown>".into(),
    }
}

/// Duration between two RFC 3339 timestamps in short form; empty if one is unset.
pub fn duration_between(start: &Value, end: &Value) -> String {
    let time = |v: &Value| v.as_str().and_then(|s| s.parse::<Timestamp>().ok());
    match (time(start), time(end)) {
        (Some(start), Some(end)) => human_duration(end.duration_since(start).as_secs()),
        _ => String::new(),
    }
}

/// Returns the text, or `other` if it is empty.
pub fn text_or(text: &str, other: &str) -> String {
    (if text.is_empty() { other } else { text }).into()
}

/// Formats a scalar: a string unchanged, a number in decimal.
pub fn scalar(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Formats labels as `a=b,c=d`; `<none>` if there are none.
pub fn labels(map: &Value) -> String {
    let pairs: Vec<String> = map
        .entries("")
        .map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()))
        .collect();
    text_or(&pairs.join(","), "<none>")
}

/// Formats a label selector as in the `labelSelector` parameter; empty if it is unset or matches
/// everything.
pub fn format_label_selector(selector: &Value) -> String {
    let mut terms: Vec<(String, String)> = Vec::new();
    for (key, value) in selector.entries("/matchLabels") {
        terms.push((
            key.clone(),
            format!("{key}={}", value.as_str().unwrap_or_default()),
        ));
    }
    for term in selector.list("/matchExpressions") {
        let key = term.text("/key");
        let mut values: Vec<&str> = term
            .list("/values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match term.text("/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_string(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".into(),
        };
        terms.push((key.to_string(), text));
    }
    terms.sort_by(|a, b| a.0.cmp(&b.0));
    terms
        .into_iter()
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join(",")
}

/// Formats a label selector as a table cell; `<none>` if it is empty.
pub fn selector_cell(selector: &Value) -> String {
    text_or(&format_label_selector(selector), "<none>")
}

/// Comma-separated names and images of containers.
pub fn containers(list: &[Value]) -> [Value; 2] {
    let join = |field: &str| {
        list.iter()
            .map(|c| c.text(field))
            .collect::<Vec<_>>()
            .join(",")
    };
    [join("/name").into(), join("/image").into()]
}

/// Formats a list truncated to `max` items, with the number of omitted items.
pub fn truncate_list(items: &[String], max: usize, all: usize) -> String {
    let shown = items
        .iter()
        .take(max)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(",");
    match all > max {
        true => format!("{shown} + {} more...", all - max),
        false => shown,
    }
}
