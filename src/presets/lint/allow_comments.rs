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
    let findings = unknown.map(|(line, name)| {
        let remedy = match closest(name, LINT_NAMES) {
            Some(guess) => format!("did you mean {guess}?"),
            None => format!("the names are {}", LINT_NAMES.join(", ")),
        };
        let message = format!("the comment allows {name:?}, which is no name of a warning");
        let column = text.lines().nth(line).and_then(|text| text.find(name));
        let at = Position {
            line: u32::try_from(line + 1).unwrap_or(u32::MAX),
            column: u32::try_from(column.unwrap_or_default() + 1).unwrap_or(u32::MAX),
        };
        Finding::warning(file, at, message).remedy(remedy)
    });
    findings.collect()
}

/// The names in comments, with the index of their line.
fn allowed(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(line, text)| {
        let names = text.trim().strip_prefix(ALLOW).unwrap_or_default();
        let names = names.split([',', ' ']).filter(|name| !name.is_empty());
        names.map(move |name| (line, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_reported() {
        let text = "a: 1\n# kueue-lab: allow cohort-of-one, cohort-of-on nothing\n";
        assert!(is_allowed_in(text, "cohort-of-one"));
        let found = unknown_allowed("q.yaml", text);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2);
        assert!(
            found[0].ends_with("no name of a warning; did you mean cohort-of-one?"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("q.yaml:2:49: the comment allows \"nothing\"")
                && found[1].contains("the names are cohort-of-one, "),
            "{found:?}"
        );
    }
}
