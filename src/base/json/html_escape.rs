//! The escapes of Go's `encoding/json`.

/// Escapes the characters of JSON that are special in HTML or JavaScript, as `json.HTMLEscape` and the
/// encoder of Go do: `<`, `>`, `&`, U+2028 and U+2029.
pub fn html_escape(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(html_escape(r#""a""#), r#""a""#);
        assert_eq!(
            html_escape("\"<b>&\u{2028}\u{2029}é\""),
            r#""\u003cb\u003e\u0026\u2028\u2029é""#
        );
    }
}
