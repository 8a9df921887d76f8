//! [`assert_parts`]: the output of a command.

/// Asserts that all parts are in the text, in this order.
///
/// # Panics
/// A part is missing, or comes before the previous one.
#[track_caller]
pub fn assert_parts(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let found = rest.split_once(part);
        assert!(found.is_some(), "no {part:?} in {text}");
        rest = found.map_or("", |(_, rest)| rest);
    }
}

#[cfg(test)]
mod tests {
    use super::assert_parts;

    #[test]
    fn the_order_counts() {
        assert_parts("a b c", &["a", "c"]);
        let wrong = std::panic::catch_unwind(|| assert_parts("a b c", &["c", "a"]));
        assert!(wrong.is_err());
    }
}
