//! Table cells shared by several kinds.

use jiff::Timestamp;
use serde_json::Value;

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

/// Formats a duration in seconds as `HumanDuration` does: at most two units, the second one only
/// for small values of the first.
pub fn human_duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |big: i64, b: &str, small: i64, s: &str| match small {
        0 => format!("{big}{b}"),
        _ => format!("{big}{b}{small}{s}"),
    };
    match seconds {
        // Clock skew of less than two seconds is tolerated.
        ..-1 => "<invalid>".into(),
        -1..0 => "0s".into(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s % HOUR / MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s % DAY / HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s % YEAR / DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::human_duration;

    #[test]
    fn durations_lose_precision_as_they_grow() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (130, "2m10s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * 3600 - 1, "179m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 60, "3h1m"),
            (8 * 3600 + 60, "8h"),
            (47 * 3600, "47h"),
            (48 * 3600, "2d"),
            (49 * 3600, "2d1h"),
            (8 * 86400 + 3600, "8d"),
            (2 * 365 * 86400, "2y"),
            (2 * 365 * 86400 + 86400, "2y1d"),
            (9 * 365 * 86400, "9y"),
        ] {
            assert_eq!(human_duration(seconds), text);
        }
    }
}
