//! Regular expressions in the syntax of Go's `regexp`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::RwLock;
use regex::Regex;

/// Compiles a pattern, with a cache. The expression is shared, not cloned: a clone of a [`Regex`]
/// builds its automaton again at its first match.
///
/// # Errors
/// The pattern is invalid.
pub(in crate::crd) fn compile_regexp(pattern: &str) -> Result<Arc<Regex>, regex::Error> {
    static CACHE: LazyLock<RwLock<HashMap<String, Arc<Regex>>>> = LazyLock::new(RwLock::default);
    /// Maximum number of cached patterns; further ones are compiled on each call.
    const MAX_CACHED_PATTERNS: usize = 4096;

    if let Some(re) = CACHE.read().get(pattern) {
        return Ok(re.clone());
    }
    // In Go, `\d`, `\w`, `\s` and `\b` match ASCII only.
    let re = regex::RegexBuilder::new(&ascii_classes(pattern))
        .size_limit(1 << 20)
        .build()?;
    let re = Arc::new(re);
    let mut cache = CACHE.write();
    if cache.len() < MAX_CACHED_PATTERNS {
        cache.insert(pattern.into(), re.clone());
    }
    Ok(re)
}

/// Replaces Perl classes by their ASCII equivalents.
fn ascii_classes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut in_set = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let next = chars.next();
                let class = match next {
                    Some('d') => Some("0-9"),
                    Some('w') => Some("0-9A-Za-z_"),
                    Some('s') => Some(r"\t\n\x0c\r "),
                    _ => None,
                };
                match (class, next) {
                    (Some(class), _) if in_set => out.push_str(class),
                    (Some(class), _) => out.extend(["[", class, "]"]),
                    (None, Some(next)) => out.extend(['\\', next]),
                    (None, None) => out.push('\\'),
                }
            }
            '[' if in_set && !out.ends_with('[') => out.push_str("\\["),
            '[' => {
                in_set = true;
                out.push('[');
            }
            ']' => {
                in_set = false;
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_compiled_once() {
        let first = compile_regexp("^[a-z]{1,7}-once$").unwrap();
        let second = compile_regexp("^[a-z]{1,7}-once$").unwrap();
        assert!(Arc::ptr_eq(&first, &second) && second.is_match("only-once"));
    }
}
