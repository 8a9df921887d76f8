//! Glob patterns, for generated names and parts of messages.

/// Whether `text` matches `pattern`, in which `*` matches any text.
pub(super) fn glob_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            match rest.find(middle) {
                Some(at) => rest = &rest[at + middle.len()..],
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

/// Whether `[NAMESPACE/]NAME` matches a namespace and one of some names.
pub(super) fn matches_job<'n>(
    pattern: &str,
    namespace: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> bool {
    let (of, pattern) = match pattern.split_once('/') {
        Some((of, pattern)) => (Some(of), pattern),
        None => (None, pattern),
    };
    of.is_none_or(|of| glob_matches(of, namespace))
        && names.into_iter().any(|name| glob_matches(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, text, expected) in [
            ("pod-job1-*", "pod-job1-head-ab12c", true),
            ("pod-job1-*", "pod-job10-head", false),
            ("*preemptor path: /cq*", "x; preemptor path: /cq-b; y", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(glob_matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
