//! Warnings about fields and versions of older APIs.

use super::Lint;
use super::allow_comments::is_allowed_in;
use crate::Finding;

/// A warning about an older field or version, unless a comment in the text of its file switches it off.
pub(crate) fn old_api(text: &str, finding: Finding) -> Option<Finding> {
    let lint = Lint {
        name: "old-api",
        finding,
    };
    (!is_allowed_in(text, lint.name)).then(|| lint.into_finding())
}
