//! The view of nodes: devices drawn one by one, bars for cpu and memory, taints.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash};

use super::details::node;
use super::name_pattern::workloads_named;
use super::{Deletion, RelatedWorkloads, RowQuery, View, ViewInfo, ViewRows};
use crate::model::meta::Requests;
use crate::model::node::NodeRow;
use crate::model::{Kind, ObjectKey, ObjectRef, Row};
use crate::state::{ListState, RowId, SortBy, State, TypedList, UnavailableReason, ViewId};
use crate::text::{Amount, age, amount_text, resource_label};
use crate::theme::Role;
use crate::widgets::table::{self, Cell, Column, ListArea};
use crate::widgets::{Canvas, DeviceSlot, PageBuilder, device_slots, usage_bar};

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

/// The view of nodes; a row is a node name.
pub(crate) struct NodesView;

impl View for NodesView {
    fn info(&self) -> &'static ViewInfo {
        &ViewInfo {
            title: "Nodes",
            help: "nodes and their devices",
            command_names: &["nodes", "no", "node"],
            kind: Some(Kind::Node),
            namespaced: false,
            side_panel: true,
            sorts: &[SortBy::Name, SortBy::Age, SortBy::DevicesUsed],
        }
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        state.data.nodes.revision().hash(hasher);
        state.deleted_nodes.hash(hasher);
        state.data.pods.revision().hash(hasher);
        state.data.resource_slices.revision().hash(hasher);
        state.data.resource_claims.revision().hash(hasher);
    }

    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows {
        let mut found: Vec<&NodeRow> = state
            .data
            .nodes
            .iter()
            .filter(|n| query.passes(|| filter_text(n), &n.meta.labels))
            .collect();
        match query.sort_by() {
            Some(SortBy::Age) => found.sort_by_key(|n| Reverse(n.meta.created)),
            Some(SortBy::DevicesUsed) => found.sort_by_cached_key(|n| {
                let allocated = state.derived.allocated_on(&n.key().name);
                let on = |r: &str| allocated.get(r).copied().unwrap_or_default();
                let devices: Amount = n.devices().map(on).sum();
                Reverse((devices, on("cpu")))
            }),
            _ => {}
        }
        let rows = found.into_iter().map(|n| n.key().name.clone());
        query.in_direction(ViewId::Nodes, rows, state.data.nodes.len())
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        let list = TypedList::<String>::new(list);
        table::draw(canvas, area, &COLUMNS, list, |c, name| {
            Some(row(state, c, state.data.nodes.named(name)?))
        });
    }

    fn empty_text(&self, _: &State) -> String {
        "No nodes.".to_owned()
    }

    fn note(&self, state: &State) -> Option<String> {
        let (existing, deleted) = (state.data.nodes.len(), &state.deleted_nodes);
        if deleted.is_empty() {
            return None;
        }
        let names = deleted.iter().map(String::as_str).collect::<Vec<_>>();
        let all = existing + names.len();
        Some(format!(
            "{existing} of {all} nodes, {} deleted: {}",
            names.len(),
            names.join(", ")
        ))
    }

    fn row_title(&self, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        Some(format!("Node {name}"))
    }

    fn row_name(&self, _: &State, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        Some(name.clone())
    }

    fn caption(&self, state: &State, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        let node = state.data.nodes.named(name)?;
        let mut parts: Vec<String> = node.gpu_product().map(str::to_owned).into_iter().collect();
        if !node.taints.is_empty() {
            parts.push(format!("taints {}", node.taints.join(" ")));
        }
        Some(format!("{name}: {}", parts.join(", ")))
    }

    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>) {
        let Some(name) = id.get::<String>() else {
            return;
        };
        match state.data.nodes.named(name) {
            Some(found) => node::write(state, found, page),
            None => page.not_found("Node", name),
        }
    }

    fn object(&self, _: &State, id: &RowId) -> Option<ObjectRef> {
        let name = id.get::<String>()?;
        let key = ObjectKey::cluster(name);
        Some(ObjectRef::watched(Kind::Node, key))
    }

    fn deletion(&self, _: &State, _: &RowId) -> Result<Deletion, UnavailableReason> {
        Err(UnavailableReason::because(
            "nodes come from the node-pool file; change it there",
        ))
    }

    fn related_workloads(&self, state: &State, id: &RowId) -> Option<RelatedWorkloads> {
        let name = id.get::<String>()?;
        let names = state
            .derived
            .pods_on(name)
            .iter()
            .filter_map(|pod| state.derived.workload_of(pod))
            .map(|wl| wl.name.as_str());
        let none = format!("no workload is on {name}");
        Some(workloads_named(names.collect(), none))
    }
}

fn filter_text(node: &NodeRow) -> String {
    format!(
        "{} {} {} {}",
        node.key().name,
        node.state(),
        node.taints.join(" "),
        node.gpu_product().unwrap_or_default()
    )
}

fn row(state: &State, c: &Canvas<'_>, node: &NodeRow) -> Vec<Cell> {
    let name = &node.key().name;
    let allocated = state.derived.allocated_on(name);
    let of = |list: &Requests, r: &str| list.get(r).copied().unwrap_or_default();
    let bar = |r: &str| {
        let (used, all) = (of(&allocated, r), of(&node.allocatable, r));
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
        devices(state, c, node, &allocated),
        bar("cpu"),
        bar("memory"),
        vec![c.span(state.derived.pods_on(name).len().to_string(), Role::Text)],
        vec![c.span(taints, Role::Dim)],
        vec![c.span(age(state.data.now, node.meta.created), Role::Text)],
    ]
}

fn devices(state: &State, c: &Canvas<'_>, node: &NodeRow, allocated: &Requests) -> Cell {
    let mut cell = Cell::new();
    let mut add = |used: usize, total: usize, label: &str| {
        if !cell.is_empty() {
            cell.push(c.span("  ", Role::Text));
        }
        let slot = DeviceSlot {
            count: used,
            letter: None,
        };
        cell.extend(device_slots(c, &[slot], total));
        cell.push(c.span(format!(" {used}/{total} {label}"), Role::Text));
    };
    for resource in node.devices() {
        let count = |a: Option<&Amount>| a.map_or(0, |a| a.ceil().max(0)) as usize;
        let total = count(node.allocatable.get(resource));
        let used = count(allocated.get(resource));
        add(used, total, resource_label(resource));
    }
    let devices = state.derived.devices_of(&node.key().name);
    for of_driver in devices.chunk_by(|a, b| a.id.driver == b.id.driver) {
        let used = of_driver.iter().filter(|device| device.claim.is_some());
        add(used.count(), of_driver.len(), &of_driver[0].id.driver);
    }
    if cell.is_empty() {
        cell.push(c.span("-", Role::Dim));
    }
    cell
}
