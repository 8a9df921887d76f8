//! Values as messages show them: strings quoted as in Go, all else as JSON.

use serde::Serialize;
use serde_json::Value;

/// A value that a message shows.
pub trait BadValue {
    /// The text in the message.
    fn into_text(self) -> String;
}

impl<V: Serialize + ?Sized> BadValue for &V {
    fn into_text(self) -> String {
        let json = serde_json::to_string(self).unwrap_or_else(|_| "null".to_owned());
        if !json.starts_with('"') {
            return json;
        }
        match serde_json::from_str::<String>(&json) {
            Ok(text) => go_quote(&text),
            Err(_) => json,
        }
    }
}

macro_rules! owned_bad_values {
    ($($type:ty),*) => {
        $(impl BadValue for $type {
            fn into_text(self) -> String {
                (&self).into_text()
            }
        })*
    };
}

owned_bad_values!(
    Value,
    Vec<Value>,
    String,
    bool,
    i32,
    i64,
    u32,
    u64,
    usize,
    f64
);

/// The JSON type of a value, as go-openapi's validator names it in errors.
pub fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A string in double quotes as Go's `%q` prints it.
pub(crate) fn go_quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() || (c.is_whitespace() && c != ' ') => match u32::from(c) {
                wide @ 0x10000.. => out.push_str(&format!("\\U{wide:08x}")),
                short => out.push_str(&format!("\\u{short:04x}")),
            },
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_in_go() {
        assert_eq!(go_quote("a\"b\\c\n\u{1}é'"), r#""a\"b\\c\n\x01é'""#);
        assert_eq!("a\u{1}".into_text(), r#""a\x01""#);
        assert_eq!(Value::from("a\u{1}").into_text(), r#""a\x01""#);
    }

    #[test]
    fn other_values_are_json() {
        assert_eq!(3.into_text(), "3");
        assert_eq!((&[1, 2]).into_text(), "[1,2]");
        assert_eq!(Value::Null.into_text(), "null");
    }
}
