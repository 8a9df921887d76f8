//! The view of workloads: state, queue, priority, place in line, pods, age, and why.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::overview;
use super::table::{self, Cell, Column};
use super::words::{state_role, why_spans};
use crate::model::workload::{WorkloadRow, WorkloadState, why};
use crate::model::{Key, Row};
use crate::state::State;
use crate::text::age;
use crate::theme::Role;
use crate::ui::{RowId, SortBy};

const COLUMNS: [Column; 11] = [
    Column::new("NS", 7, 16, 7).name(),
    Column::new("NAME", 16, 40, 0).name().by(SortBy::Name),
    Column::new("STATE", 8, 8, 1).whole().by(SortBy::State),
    Column::new("QUEUE", 8, 20, 3).name().by(SortBy::Queue),
    Column::new("CLUSTERQUEUE", 12, 20, 9).name(),
    Column::new("PRI", 3, 8, 4)
        .right()
        .whole()
        .by(SortBy::Priority),
    Column::new("CLASS", 5, 16, 10).name(),
    Column::new("POS", 3, 6, 5)
        .right()
        .whole()
        .by(SortBy::Position),
    Column::new("PODS", 4, 9, 8).right().whole(),
    Column::new("AGE", 3, 6, 6).right().whole().by(SortBy::Age),
    Column::new("WHY", 22, 120, 2),
];

/// Columns of the list from which names are shown whole before more columns are.
const ROOMY: u16 = 100;

/// Draws the window on the list.
pub(super) fn draw(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    let list = state.ui.list();
    let mut columns = COLUMNS;
    let roomy = rows.width >= ROOMY;
    columns[1] = columns[1].wish(if roomy { 30 } else { 20 });
    columns[3] = columns[3].wish(10);
    if roomy {
        columns[10] = columns[10].part(3);
    }
    // Where nobody stands in a line, there are no places to show.
    if !state.derived.anybody_waits() {
        columns[7].off = true;
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
    overview::groups(state, below, canvas);
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

fn row(state: &State, c: &Canvas<'_>, key: &Key, wl: &WorkloadRow) -> Vec<Cell> {
    let at = wl.state();
    let over = at.over() || at == WorkloadState::Inactive;
    let quiet = if over { Role::Dim } else { Role::Text };
    let place = state.derived.position(wl.key());
    let pods = state.derived.pods_of(key);
    let pods = match at {
        WorkloadState::Admitted | WorkloadState::Evicted => {
            format!("{}/{}", pods.ready, wl.pods_wanted())
        }
        _ => wl.pods_wanted().to_string(),
    };
    let cell = |text: &str, role| vec![c.span(text, role)];
    vec![
        cell(&key.namespace, Role::Dim),
        cell(&key.name, quiet),
        cell(at.word(), state_role(at)),
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
            cell(&why(wl, &state.data, &state.derived).line(), Role::Dim)
        } else {
            why_spans(c, &why(wl, &state.data, &state.derived))
        },
    ]
}
