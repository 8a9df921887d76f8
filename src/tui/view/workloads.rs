//! The view of workloads: state, queue, priority, place in line, pods, age, and why.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::format::{reason_spans, state_role};
use super::pending_overview;
use super::table::{self, Cell, Column};
use crate::model::workload::{WorkloadRow, WorkloadState, status_reason};
use crate::model::{NamespacedName, Row};
use crate::state::State;
use crate::text::age;
use crate::theme::Role;
use crate::ui_state::{RowId, SortBy};

const COLUMNS: [Column; 11] = [
    Column::new("NS", 7, 16, 7).name(),
    Column::new("NAME", 16, 40, 0).name().sort_by(SortBy::Name),
    Column::new("STATE", 8, 8, 1)
        .no_truncate()
        .sort_by(SortBy::State),
    Column::new("QUEUE", 8, 20, 3).name().sort_by(SortBy::Queue),
    Column::new("CLUSTERQUEUE", 12, 20, 9).name(),
    Column::new("PRI", 3, 8, 4)
        .right()
        .no_truncate()
        .sort_by(SortBy::Priority),
    Column::new("CLASS", 5, 16, 10).name(),
    Column::new("POS", 3, 6, 5)
        .right()
        .no_truncate()
        .sort_by(SortBy::Position),
    Column::new("PODS", 4, 9, 8).right().no_truncate(),
    Column::new("AGE", 3, 6, 6)
        .right()
        .no_truncate()
        .sort_by(SortBy::Age),
    Column::new("WHY", 22, 120, 2),
];

/// Columns of the list from which names are shown whole before more columns are.
const WIDE_NAMES_MIN_WIDTH: u16 = 100;

/// Draws the window on the list.
pub(super) fn draw(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    let list = state.ui.list();
    let mut columns = COLUMNS;
    let roomy = rows.width >= WIDE_NAMES_MIN_WIDTH;
    columns[1] = columns[1].preferred(if roomy { 30 } else { 20 });
    columns[3] = columns[3].preferred(10);
    if roomy {
        columns[10] = columns[10].fraction(3);
    }
    // Where nobody stands in a line, there are no places to show.
    if !state.derived.has_pending_workloads() {
        columns[7].hidden = true;
    }
    // Where all are in one namespace, its name says nothing.
    let skip = usize::from(one_namespace(&list.rows));
    table::draw(
        canvas,
        heading,
        rows,
        &columns[skip..],
        list,
        |c, id| match id {
            RowId::Workload(key) => match state.data.workloads.get(key) {
                Some(wl) => row(state, c, key, wl).split_off(skip),
                None => Vec::new(),
            },
            _ => Vec::new(),
        },
    );
    let used = u16::try_from(list.rows.len()).map_or(rows.height, |n| n.min(rows.height));
    let below = Rect {
        y: rows.y + used,
        height: rows.height - used,
        ..rows
    };
    pending_overview::draw_incomplete_pod_groups(state, below, canvas);
}

/// Whether all rows are in one namespace.
fn one_namespace(rows: &[RowId]) -> bool {
    let mut all = rows.iter().filter_map(|id| match id {
        RowId::Workload(key) => Some(key.namespace.as_str()),
        _ => None,
    });
    let first = all.next();
    all.all(|ns| Some(ns) == first)
}

fn row(state: &State, c: &Canvas<'_>, key: &NamespacedName, wl: &WorkloadRow) -> Vec<Cell> {
    let at = wl.state();
    let over = at.is_finished() || at == WorkloadState::Inactive;
    let quiet = if over { Role::Dim } else { Role::Text };
    let place = state.derived.position(wl.key());
    let pods = state.derived.pods_of(key);
    let pods = match at {
        WorkloadState::Admitted | WorkloadState::Evicted => {
            format!("{}/{}", pods.ready, wl.pod_count())
        }
        _ => wl.pod_count().to_string(),
    };
    let cell = |text: &str, role| vec![c.span(text, role)];
    vec![
        cell(&key.namespace, Role::Dim),
        cell(&key.name, quiet),
        cell(at.as_str(), state_role(at)),
        cell(&wl.queue, quiet),
        cell(state.data.cluster_queue_of(wl).unwrap_or("-"), quiet),
        cell(&wl.priority.to_string(), quiet),
        cell(wl.priority_class.as_deref().unwrap_or("-"), quiet),
        cell(
            &place.map_or_else(|| "-".to_owned(), |p| format!("#{}", p.number)),
            quiet,
        ),
        cell(&pods, quiet),
        cell(&age(state.data.now, wl.meta.created), quiet),
        if over {
            cell(
                &status_reason(wl, &state.data, &state.derived).line(),
                Role::Dim,
            )
        } else {
            reason_spans(c, &status_reason(wl, &state.data, &state.derived))
        },
    ]
}
