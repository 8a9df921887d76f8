//! An error at a position in a YAML text.

use std::fmt;

/// A position in a text; both numbers count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// The start of a text.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Position {
    /// `LINE:COLUMN`, to follow a file name and a colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// An error and its position. The caller adds the file name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct Problem {
    /// Its position.
    pub at: Position,
    /// One sentence without a final period.
    pub message: String,
}

impl Problem {
    /// A problem at a position.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

/// A value that does not fit the type it is read as.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {}{message}", prefix(path))]
pub struct TypeMismatch {
    /// Its position.
    pub at: Position,
    /// The field, such as `spec.levels[0]`; empty for the document as a whole.
    pub path: String,
    /// One sentence without a final period.
    pub message: String,
}

fn prefix(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!("{path}: "),
    }
}

impl From<TypeMismatch> for Problem {
    fn from(mismatch: TypeMismatch) -> Self {
        Self::new(mismatch.at, mismatch.message)
    }
}

/// A field that the type does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// The field, such as `spec.levls`.
    pub path: String,
    /// The position of its key.
    pub at: Position,
    /// The field that was probably meant.
    pub suggestion: Option<&'static str>,
}

/// The candidate that `word` most likely means: at most two typing errors away, and nearer than any
/// other.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match word.chars().count() {
        0..=2 => 0,
        3..=4 => 1,
        _ => 2,
    };
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (distance(&lower, &c.to_lowercase()), c))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Edit distance with transpositions (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_corrects_typing_errors_only() {
        let fields = ["nominalQuota", "borrowingLimit", "lendingLimit"];
        assert_eq!(closest("nominalquota", fields), Some("nominalQuota"));
        assert_eq!(closest("borowingLimti", fields), Some("borrowingLimit"));
        assert_eq!(closest("quota", fields), None);
        assert_eq!(closest("x", ["y"]), None);
    }
}
