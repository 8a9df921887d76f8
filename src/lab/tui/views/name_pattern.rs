//! Filter text that matches names.

use super::RelatedWorkloads;

/// The most Workloads that a filter matches by name.
const MAX_NAMES: usize = 40;

/// The Workloads with these names, or `none`, the message that there are none.
pub(super) fn workloads_named(mut names: Vec<&str>, none: String) -> RelatedWorkloads {
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_NAMES);
    match names.is_empty() {
        true => RelatedWorkloads::None(none),
        false => RelatedWorkloads::Filter(any_name_pattern(&names)),
    }
}

/// A filter text that matches any of these names.
pub(super) fn any_name_pattern(names: &[&str]) -> String {
    let escaped: Vec<String> = names.iter().map(|n| regex::escape(n)).collect();
    match escaped.as_slice() {
        // A single name is readable without escapes.
        [_] => names.join(""),
        many => many.join("|"),
    }
}
