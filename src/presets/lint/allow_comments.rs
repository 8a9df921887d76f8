//! Comments that switch warnings off for the objects of a file.

use kueue_lab_yaml::{Position, closest};

use super::preset_lints::LINT_NAMES;
use crate::Finding;

/// The comment, before names of warnings: `# kueue-lab: allow NAME, NAME`.
pub(super) const ALLOW: &str = "# kueue-lab: allow ";

/// Whether a comment in a text switches a warning off.
pub(super) fn is_allowed_in(text: &str, name: &str) -> bool {
    allowed(text).any(|(_, allowed)| allowed == name)
}

/// The names in comments of a file that no warning has.
pub(crate) fn unknown_allowed(file: &str, text: &str) -> Vec<Finding> {
    let unknown = allowed(text).filter(|(_, name)| !LINT_NAMES.contains(name));
    let findings = unknown.map(|(at, name)| {
        let remedy = match closest(name, LINT_NAMES) {
            Some(guess) => format!("did you mean {guess}?"),
            None => format!("the names are {}", LINT_NAMES.join(", ")),
        };
        let message = format!("the comment allows {name:?}, which is no name of a warning");
        Finding::warning(file, at, message).remedy(remedy)
    });
    findings.collect()
}

/// The names in comments, with their positions.
fn allowed(text: &str) -> impl Iterator<Item = (Position, &str)> {
    text.lines().zip(1..).flat_map(|(text, line)| {
        // A comment starts a line or follows a space.
        let is_comment = |start: &usize| {
            let before = text[..*start].chars().last();
            before.is_none_or(char::is_whitespace)
        };
        let mut starts = text.match_indices(ALLOW).map(|(start, _)| start);
        let comment = starts.find(is_comment);
        let names = comment.map_or("", |start| text[start + ALLOW.len()..].trim_end());
        let before = comment.map_or(0, |start| text[..start].chars().count());
        let mut next = before + ALLOW.len() + 1;
        let names = names.split([',', ' ']).map(move |name| {
            let column = u32::try_from(next).unwrap_or(u32::MAX);
            next += name.len() + 1;
            (Position { line, column }, name)
        });
        names.filter(|(_, name)| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_reported() {
        let text = "a: 1\n# kueue-lab: allow cohort-of-one, cohort-of-on nothing\n";
        assert!(is_allowed_in(text, "cohort-of-one"));
        let after_value = "  cohortName: c  # kueue-lab: allow cohort-of-one\n";
        assert!(is_allowed_in(after_value, "cohort-of-one"));
        let found = unknown_allowed("q.yaml", text);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            "q.yaml:2:35: the comment allows \"cohort-of-on\", which is no name of a warning; did you mean cohort-of-one?"
        );
        assert!(
            found[1].starts_with("q.yaml:2:48: the comment allows \"nothing\"")
                && found[1].contains("the names are cohort-of-one, "),
            "{found:?}"
        );
    }
}
