//! The view of nodes: devices drawn one by one, bars for cpu and memory, taints.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::table::{self, Cell, Column};
use super::widget::{DeviceSlot, device_slots, usage_bar};
use crate::model::Row;
use crate::model::meta::Requests;
use crate::model::node::NodeRow;
use crate::state::State;
use crate::text::{Amount, age, amount_text, resource_label};
use crate::theme::Role;
use crate::ui_state::{RowId, SortBy};

const COLUMNS: [Column; 8] = [
    Column::new("NODE", 12, 40, 0).name().sort_by(SortBy::Name),
    Column::new("STATE", 8, 9, 2).no_truncate(),
    Column::new("DEVICES", 14, 60, 1)
        .preferred(18)
        .sort_by(SortBy::DevicesUsed),
    Column::new("CPU", 9, 24, 3).no_truncate(),
    Column::new("MEMORY", 9, 24, 5).no_truncate(),
    Column::new("PODS", 4, 5, 4).right().no_truncate(),
    Column::new("TAINTS", 8, 60, 6),
    Column::new("AGE", 4, 6, 7)
        .right()
        .no_truncate()
        .sort_by(SortBy::Age),
];

/// Columns of a bar.
const BAR: u16 = 6;

/// Draws the window on the list.
pub(super) fn draw(state: &State, heading: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    table::draw(
        canvas,
        heading,
        rows,
        &COLUMNS,
        state.ui.list(),
        |c, id| match id {
            RowId::Node(name) => match state.data.nodes.named(name) {
                Some(node) => row(state, c, node),
                None => Vec::new(),
            },
            _ => Vec::new(),
        },
    );
}

fn row(state: &State, c: &Canvas<'_>, node: &NodeRow) -> Vec<Cell> {
    let name = &node.key().name;
    let occupied = state.derived.allocated_on(name);
    let of = |list: &Requests, r: &str| list.get(r).copied().unwrap_or_default();
    let bar = |r: &str| {
        let (used, all) = (of(&occupied, r), of(&node.allocatable, r));
        let mut cell = usage_bar(c, used, all, BAR);
        let text = format!(" {}/{}", amount_text(r, used), amount_text(r, all));
        cell.push(c.span(text, Role::Text));
        cell
    };
    let role = match node.state() {
        "Ready" => Role::Success,
        "Cordoned" => Role::Warning,
        _ => Role::Error,
    };
    let taints = if node.taints.is_empty() {
        "-".to_owned()
    } else {
        node.taints.join(" ")
    };
    vec![
        vec![c.span(name.clone(), Role::Text)],
        vec![c.span(node.state(), role)],
        devices(c, node, &occupied),
        bar("cpu"),
        bar("memory"),
        vec![c.span(state.derived.pods_on(name).len().to_string(), Role::Text)],
        vec![c.span(taints, Role::Dim)],
        vec![c.span(age(state.data.now, node.meta.created), Role::Text)],
    ]
}

fn devices(c: &Canvas<'_>, node: &NodeRow, occupied: &Requests) -> Cell {
    let mut cell = Cell::new();
    for resource in node.devices() {
        if !cell.is_empty() {
            cell.push(c.span("  ", Role::Text));
        }
        let count = |a: Option<&Amount>| a.map_or(0, |a| a.ceil().max(0)) as usize;
        let total = count(node.allocatable.get(resource));
        let used = count(occupied.get(resource));
        let slot = DeviceSlot {
            count: used,
            letter: None,
        };
        cell.extend(device_slots(c, &[slot], total));
        let text = format!(" {used}/{total} {}", resource_label(resource));
        cell.push(c.span(text, Role::Text));
    }
    if cell.is_empty() {
        cell.push(c.span("-", Role::Dim));
    }
    cell
}
