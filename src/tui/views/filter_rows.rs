//! Filtering and ordering of rows.

use crate::model::meta::Labels;
use crate::state::{Filter, Sort};

/// The labels of rows without labels.
pub(super) static NO_LABELS: Labels = Labels::new();

/// Whether a row with this text and these labels passes the filter.
pub(super) fn matches_filter(
    filter: Option<&Filter>,
    text: impl FnOnce() -> String,
    labels: &Labels,
) -> bool {
    filter.is_none_or(|f| f.matches(&text(), labels))
}

/// Reverses the rows if the sort order is reversed.
pub(super) fn apply_direction<R>(rows: &mut [R], sort: Option<Sort>) {
    if sort.is_some_and(|s| s.reversed) {
        rows.reverse();
    }
}
