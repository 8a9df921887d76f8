//! [`workload_pages`]: the pages of the Workloads among objects, for tests.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::lines;
use crate::model::import::{ImportError, import_objects};
use crate::model::{ObjectKey, Row};
use crate::state::{Env, PageKind, RowId, State};

/// Columns in which no reason is wrapped.
const WIDTH: u16 = 2_000;

/// The text of the page of each Workload among objects, at a time.
///
/// # Errors
/// An object cannot be decoded as its kind.
pub fn workload_pages(
    objects: impl IntoIterator<Item = Value>,
    now: Timestamp,
) -> Result<BTreeMap<ObjectKey, String>, ImportError> {
    let mut state = State::new(Env::default());
    state.data.now = now;
    for update in import_objects(objects)? {
        state.data.apply(update);
    }
    state.derived.refresh(&state.data);
    let rows = state.data.workloads.iter();
    let pages = rows.map(|row| {
        let id = RowId::new(crate::state::ViewId::Workloads, row.key().clone());
        let lines = lines(&state, &PageKind::Details, Some(&id), WIDTH);
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        (row.key().clone(), lines.join("\n"))
    });
    Ok(pages.collect())
}
