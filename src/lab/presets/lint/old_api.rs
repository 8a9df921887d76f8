//! Warnings about fields and versions of older APIs.

use super::Lint;
use super::allow_comments::AllowComments;
use crate::Finding;

/// A warning about an older field or version, unless a comment switches it off.
pub(crate) fn old_api(comments: &AllowComments<'_>, finding: Finding) -> Option<Finding> {
    let lint = Lint {
        name: "old-api",
        finding,
    };
    (!comments.allow(lint.name, lint.finding.at)).then(|| lint.into_finding())
}
