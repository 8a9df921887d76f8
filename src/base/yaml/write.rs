//! Writes values as YAML that YAML 1.1 and 1.2 read alike.

use serde_json::Value;

/// The words that YAML 1.1 reads as booleans or null, in lower case.
const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// A value as a YAML document in block style. Strings that could be read as another type are quoted;
/// those with several lines are literal blocks if possible.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_map(&mut out, value, 0),
        Value::Array(list) if !list.is_empty() => write_list(&mut out, value, 0),
        scalar => write_scalar(&mut out, scalar, 0),
    }
    out
}

fn write_map(out: &mut String, value: &Value, indent: usize) {
    for (i, (key, value)) in value.as_object().into_iter().flatten().enumerate() {
        // The first key may follow the dash of a list item.
        if i > 0 || out.ends_with('\n') || out.is_empty() {
            pad(out, indent);
        }
        write_quoted_or_plain(out, key);
        out.push(':');
        match value {
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                write_map(out, value, indent + 2);
            }
            Value::Array(list) if !list.is_empty() => {
                out.push('\n');
                write_list(out, value, indent);
            }
            scalar => {
                out.push(' ');
                write_scalar(out, scalar, indent + 2);
            }
        }
    }
}

fn write_list(out: &mut String, value: &Value, indent: usize) {
    for (i, value) in value.as_array().into_iter().flatten().enumerate() {
        if i > 0 || out.ends_with('\n') || out.is_empty() {
            pad(out, indent);
        }
        out.push_str("- ");
        match value {
            Value::Object(map) if !map.is_empty() => write_map(out, value, indent + 2),
            Value::Array(list) if !list.is_empty() => write_list(out, value, indent + 2),
            scalar => write_scalar(out, scalar, indent + 2),
        }
    }
}

/// Writes a scalar or an empty collection, and ends the line.
fn write_scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(text) if is_literal(text) => {
            out.push_str(if text.ends_with('\n') { "|\n" } else { "|-\n" });
            for line in text.lines() {
                if !line.is_empty() {
                    pad(out, indent);
                    out.push_str(line);
                }
                out.push('\n');
            }
            return;
        }
        Value::String(text) => write_quoted_or_plain(out, text),
        other => out.push_str(&other.to_string()),
    }
    out.push('\n');
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Whether a text can be a literal block: several lines, none with unusual characters, the first not
/// indented and none ending with a space.
fn is_literal(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let unusual = |c: char| c != '\n' && (c.is_control() || is_line_break(c));
    body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && !body.contains(unusual)
        && !body.lines().any(|line| line.ends_with(' '))
}

/// Whether YAML 1.1 takes a character for a line break, or for the mark of an encoding.
fn is_line_break(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn write_quoted_or_plain(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_line_break(c) => {
                // All of them are in the basic plane.
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a text is a string without quotes: it begins with a letter or slash and has no characters
/// with a meaning in YAML.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-./=()+".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(plain)
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Limits, parse_one};

    #[test]
    fn ambiguous_strings_are_quoted_and_lines_are_literal() {
        let value = json!({
            "words": ["yes", "No", "~", "null", "1e3", "0x10", "12:30:45", "2026-01-01", "", "- a"],
            "plain": ["nginx", "a b", "/bin/sh", "kueue.x-k8s.io/v1beta2", 7, true, null],
            "nested": [[1, {"a": {}}], {"b": [], "c": [{"d": "x"}]}],
            "script": "set -e\n\n  echo 'a: b' # c\n",
            "no end": "a\nb",
        });
        let text = to_string(&value);
        assert_eq!(
            text,
            r##"nested:
- - 1
  - a: {}
- b: []
  c:
  - d: x
"no end": |-
  a
  b
plain:
- nginx
- a b
- /bin/sh
- kueue.x-k8s.io/v1beta2
- 7
- true
- null
script: |
  set -e

    echo 'a: b' # c
words:
- "yes"
- "No"
- "~"
- "null"
- "1e3"
- "0x10"
- "12:30:45"
- "2026-01-01"
- ""
- "- a"
"##
            .replace("\"no end\"", "no end")
        );
        assert_eq!(
            parse_one(&text, Limits::default()).unwrap().to_json(),
            value
        );
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,12}",
            "[a-zA-Z0-9:.+-]{0,8}",
            "([ a-z:#-]{0,5}\n){0,4}[ a-z]{0,3}",
            any::<String>(),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1.0e9..1.0e9).prop_map(|n: f64| json!(n)),
            text().prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(text(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(value in value()) {
            let text = to_string(&value);
            let read = parse_one(&text, Limits::default());
            if value.is_null() {
                // A document that is null has no content.
                prop_assert!(read.is_err());
            } else {
                prop_assert_eq!(read.unwrap().to_json(), value, "{}", text);
            }
        }
    }
}
