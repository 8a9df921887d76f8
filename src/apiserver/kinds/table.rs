//! Building blocks of `Table` answers: columns, and the cells that many kinds share.

use jiff::Timestamp;
use serde_json::Value;

use crate::apiserver::kind::Column;

/// The name column every built-in table starts with.
pub fn name_column() -> Column {
    Column {
        format: "name",
        ..column("Name", "string", 0)
    }
}

/// A column of the given header, type and priority.
pub fn column(name: &str, kind: &'static str, priority: i32) -> Column {
    Column {
        name: name.into(),
        kind,
        format: "",
        description: String::new(),
        priority,
    }
}

/// The object's name, empty where it has none.
pub fn name_cell(object: &Value) -> Value {
    object
        .pointer("/metadata/name")
        .cloned()
        .unwrap_or_else(|| "".into())
}

/// How long ago the object was created, as `kubectl get` prints it.
pub fn age_cell(object: &Value, now: Timestamp) -> Value {
    since(object.pointer("/metadata/creationTimestamp"), now).into()
}

/// Time since an RFC 3339 instant in the short form; `<unknown>` where there is none.
pub fn since(instant: Option<&Value>, now: Timestamp) -> String {
    match instant
        .and_then(Value::as_str)
        .and_then(|s| s.parse::<Timestamp>().ok())
    {
        Some(t) => human_duration(now.as_second() - t.as_second()),
        None => "<unknown>".into(),
    }
}

/// A duration in whole seconds as Kubernetes shortens it for people: at most two units, the second
/// one only while the first is small.
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
        // A clock a little behind is not worth showing.
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
