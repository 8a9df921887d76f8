//! Warnings about fields and versions of older APIs.

use super::Lint;
use super::allow_comments::AllowComments;
use crate::Finding;

/// The warnings about one kind of use of older APIs in a folder, except those that a comment switches off.
#[derive(Default)]
pub(crate) struct OldApiWarnings(Vec<Finding>);

impl OldApiWarnings {
    /// Adds the warning about an object.
    pub(crate) fn add(&mut self, comments: &AllowComments<'_>, finding: Finding) {
        let lint = lint(finding);
        if !comments.allow(lint.name, lint.finding.at) {
            self.0.push(lint.finding);
        }
    }

    /// One warning for all objects: the first, with the number of the others.
    pub(crate) fn of_objects(self) -> Option<Finding> {
        let others = self.0.len().checked_sub(1)?;
        let suffix = match others {
            0 => String::new(),
            1 => ", and 1 other object is of an older version, too".to_owned(),
            _ => format!(", and {others} other objects are of older versions, too"),
        };
        let first = self.0.into_iter().next()?;
        Some(with_suffix(first, &suffix))
    }

    /// One warning for each message: the first, with the number of the others.
    pub(crate) fn of_messages(self) -> Vec<Finding> {
        let mut first: Vec<(Finding, usize)> = Vec::new();
        for finding in self.0 {
            let known = first.iter_mut();
            match known
                .into_iter()
                .find(|(f, _)| f.message == finding.message)
            {
                Some((_, others)) => *others += 1,
                None => first.push((finding, 0)),
            }
        }
        let with_number = first.into_iter().map(|(first, others)| match others {
            0 => with_suffix(first, ""),
            1 => with_suffix(first, ", also in 1 other object"),
            _ => with_suffix(first, &format!(", also in {others} other objects")),
        });
        with_number.collect()
    }
}

fn lint(finding: Finding) -> Lint {
    Lint {
        name: "old-api",
        finding,
    }
}

fn with_suffix(mut finding: Finding, suffix: &str) -> Finding {
    finding.message.push_str(suffix);
    lint(finding).into_finding()
}
