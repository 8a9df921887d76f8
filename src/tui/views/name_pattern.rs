//! Filter text that matches names.

/// A filter text that matches any of these names.
pub(super) fn any_name_pattern(names: &[&str]) -> String {
    let escaped: Vec<String> = names.iter().map(|n| regex::escape(n)).collect();
    match escaped.as_slice() {
        // A single name is readable without escapes.
        [_] => names.join(""),
        many => many.join("|"),
    }
}
