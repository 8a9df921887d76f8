//! [`AllowComments`]: comments that switch warnings off for a line, an object or a file.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use kueue_lab_yaml::{Position, closest};

use super::preset_lints::LINT_NAMES;
use crate::Finding;

/// The comment, before names of warnings: `# kueue-lab: allow NAME, NAME - REASON`.
pub(super) const ALLOW: &str = "# kueue-lab: allow ";
/// The separator between the names and a reason.
const REASON: [&str; 2] = [" -", ":"];

/// The comments of a file that switch warnings off.
pub(crate) struct AllowComments<'t> {
    comments: Vec<AllowComment<'t>>,
}

/// A name in a comment.
struct AllowComment<'t> {
    name: &'t str,
    /// The lines of the warnings that it switches off.
    lines: RangeInclusive<u32>,
}

impl<'t> AllowComments<'t> {
    /// The comments of a text with objects that start at lines.
    pub(crate) fn new(text: &'t str, starts: impl IntoIterator<Item = u32>) -> Self {
        let names = allowed(text);
        let mut names = names.peekable();
        if names.peek().is_none() {
            return Self {
                comments: Vec::new(),
            };
        }
        let starts: BTreeSet<u32> = starts.into_iter().collect();
        let lines: Vec<&str> = text.lines().collect();
        let comments = names.map(|(at, name)| AllowComment {
            name,
            lines: scope(&lines, &starts, at.line),
        });
        Self {
            comments: comments.collect(),
        }
    }

    /// Whether a warning at a position is switched off.
    pub(crate) fn allow(&self, name: &str, at: Position) -> bool {
        let mut comments = self.comments.iter();
        comments.any(|comment| comment.name == name && comment.lines.contains(&at.line))
    }
}

/// The lines that a comment in a line is about: this line, if the comment follows a value; all, if it is at the top of
/// the file; those of the next object, if the comment is before its first line; otherwise those of the object that it
/// is in.
fn scope(lines: &[&str], starts: &BTreeSet<u32>, line: u32) -> RangeInclusive<u32> {
    // Lines count from 1.
    let at = |line: u32| {
        let line = lines.get(line as usize - 1);
        line.map_or("", |line| line.trim())
    };
    let has_content = |line: u32| {
        let text = at(line);
        !(text.is_empty() || text.starts_with(['#', '%']) || text == "---")
    };
    if has_content(line) {
        return line..=line;
    }
    if !(1..line).any(has_content) {
        return 1..=u32::MAX;
    }
    let next = starts.range(line..).next();
    let next = next.filter(|next| !(line..**next).any(has_content));
    let Some(start) = next.or_else(|| starts.range(..line).next_back()) else {
        return line..=line;
    };
    let end = starts.range(start + 1..).next();
    *start..=end.map_or(u32::MAX, |end| end - 1)
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
        let end = REASON.iter().filter_map(|before| names.find(before)).min();
        let names = &names[..end.unwrap_or(names.len())];
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

    /// The lines of warnings that are switched off.
    fn lines(text: &str, starts: &[u32]) -> Vec<u32> {
        let comments = AllowComments::new(text, starts.iter().copied());
        let all = 1..=u32::try_from(text.lines().count()).unwrap();
        let is_allowed = |line: &u32| {
            let at = Position {
                line: *line,
                column: 1,
            };
            comments.allow("old-api", at)
        };
        all.filter(is_allowed).collect()
    }

    #[test]
    fn comments_are_about_a_line_an_object_or_the_file() {
        let text = |top: &str, before: &str, inside: &str, after_value: &str| {
            format!(
                "# Text\n{top}\n---\n\nkind: A\nspec: {{}}{after_value}\n---\n{before}\n# Text\nkind: B\n{inside}\nspec: {{}}\n---\nkind: C\n"
            )
        };
        let allow = "# kueue-lab: allow old-api";
        let starts = [5, 10, 14];
        assert_eq!(lines(&text("", "", "", ""), &starts), [0; 0]);
        let of_file = lines(&text(allow, "", "", ""), &starts);
        assert_eq!(of_file, (1..=14).collect::<Vec<_>>());
        assert_eq!(lines(&text("", allow, "", ""), &starts), [10, 11, 12, 13]);
        let inside = format!("  {allow}: a reason");
        assert_eq!(lines(&text("", "", &inside, ""), &starts), [10, 11, 12, 13]);
        let after_value = format!(" {allow} - a reason, cohort-of-one");
        assert_eq!(lines(&text("", "", "", &after_value), &starts), [6]);
        let items = format!("kind: List\nitems:\n- kind: A\n{allow}\n- kind: B\n- kind: C\n");
        assert_eq!(lines(&items, &[3, 5, 6]), [5]);
    }

    #[test]
    fn a_reason_follows_the_names() {
        let text = "a: 1 # kueue-lab: allow old-api, cohort-of-one - we know that: it is stopped\n";
        let names: Vec<_> = allowed(text).map(|(_, name)| name).collect();
        assert_eq!(names, ["old-api", "cohort-of-one"]);
        assert_eq!(unknown_allowed("q.yaml", text), []);
    }

    #[test]
    fn unknown_names_are_reported() {
        let text = "a: 1\n# kueue-lab: allow cohort-of-one, cohort-of-on nothing\n";
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
