//! The first sentence of a longer text.

use super::sanitize;

/// The first sentence of the first paragraph, sanitized, on one line; empty if there is none.
pub(crate) fn first_sentence(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let paragraph: Vec<&str> = lines
        .skip_while(|l| l.is_empty())
        .take_while(|l| !l.is_empty())
        .collect();
    let joined = sanitize(&paragraph.join(" "));
    match joined.find(". ") {
        Some(end) => joined[..=end].to_owned(),
        None => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_may_take_several_lines() {
        let text = "\n Two queues\n share. They also lend.\n\nTry it.";
        assert_eq!(first_sentence(text), "Two queues share.");
        assert_eq!(first_sentence("v1.2 only"), "v1.2 only");
        assert_eq!(first_sentence(""), "");
    }
}
