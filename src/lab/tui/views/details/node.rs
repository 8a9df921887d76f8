//! Details of a Node: devices by workload, amounts, taints, pods.

use std::collections::BTreeMap;

use crate::model::Row;
use crate::model::node::NodeRow;
use crate::model::pod::PodRow;
use crate::state::State;
use crate::text::{Amount, age, amount_text};
use crate::theme::Role;
use crate::widgets::format::requests_text;
use crate::widgets::{PageBuilder, TableCell};

/// The most devices drawn one by one.
const MAX_DEVICES: usize = 64;

/// Writes the details of a Node.
pub(crate) fn write(state: &State, node: &NodeRow, doc: &mut PageBuilder<'_>) {
    let name = &node.key().name;
    let role = if node.ready {
        Role::Success
    } else {
        Role::Error
    };
    let because = if node.ready || node.not_ready_reason.is_empty() {
        String::new()
    } else {
        format!(": {}", node.not_ready_reason)
    };
    doc.field("State", &format!("{}{because}", node.state()), role);
    if let Some(product) = node.gpu_product() {
        doc.field("GPUs", product, Role::Text);
    }
    let taints = node.taints.join(", ");
    doc.field(
        "Taints",
        if taints.is_empty() { "none" } else { &taints },
        Role::Text,
    );
    doc.field("Age", &age(state.data.now, node.meta.created), Role::Text);

    let pods: Vec<&PodRow> = state
        .derived
        .pods_on(name)
        .iter()
        .filter_map(|key| state.data.pods.get(key))
        .collect();
    let letters = letters(state, &pods);
    for resource in node.devices() {
        slots(state, node, resource, &pods, &letters, doc);
    }

    doc.section("Allocated resources");
    let occupied = state.derived.allocated_on(name);
    let rows: Vec<Vec<TableCell>> = node
        .allocatable
        .iter()
        .filter(|(_, all)| !all.is_zero())
        .map(|(resource, all)| {
            let used = occupied.get(resource).copied().unwrap_or_default();
            vec![
                (resource.clone(), Role::Text),
                (amount_text(resource, used), Role::Text),
                (amount_text(resource, *all), Role::Text),
                (format!("{}%", used.percent(*all)), Role::Dim),
            ]
        })
        .collect();
    doc.table(&["RESOURCE", ">USED", ">OF", ">"], &rows);

    let devices = state.derived.devices_of(name);
    if !devices.is_empty() {
        doc.section("Devices of ResourceSlices");
        let titles = ["DRIVER", "DEVICE", "CLAIM", "PODS"];
        doc.list(&titles, devices.iter(), MAX_DEVICES, |device| {
            let claim = device.claim.as_ref();
            let claim = claim.and_then(|key| state.data.resource_claims.get(key));
            let (claim, pods) = match claim {
                Some(claim) => (claim.key().to_string(), claim.pods.join(", ")),
                None => ("-".to_owned(), "-".to_owned()),
            };
            vec![
                (device.id.driver.clone(), Role::Text),
                (device.id.device.clone(), Role::Text),
                (claim, Role::Used),
                (pods, Role::Text),
            ]
        });
    }

    doc.section("Pods");
    if pods.is_empty() {
        doc.text("None.", Role::Dim);
    } else {
        let titles = ["", "POD", "PHASE", "WORKLOAD", "REQUESTS"];
        doc.list(&titles, pods.iter(), 60, |pod| {
            let workload = state.derived.workload_of(pod.key());
            let letter = workload.and_then(|w| letters.get(&w.to_string()));
            let phase = if pod.meta.deleting {
                "Terminating".to_owned()
            } else {
                pod.phase.clone()
            };
            vec![
                (letter.map_or(String::new(), char::to_string), Role::Used),
                (pod.key().to_string(), Role::Text),
                (phase, Role::Text),
                (
                    workload.map_or_else(|| "-".to_owned(), |w| w.name.clone()),
                    Role::Text,
                ),
                (requests_text(&pod.requests), Role::Text),
            ]
        });
    }
    if !node.meta.labels.is_empty() {
        doc.section("Labels");
        for (key, value) in &node.meta.labels {
            doc.text(&format!("{key}={value}"), Role::Text);
        }
    }
    doc.events("Node", node.key(), 10);
}

/// A letter for each workload on the node.
fn letters(state: &State, pods: &[&PodRow]) -> BTreeMap<String, char> {
    let mut letters = BTreeMap::new();
    for pod in pods {
        if let Some(workload) = state.derived.workload_of(pod.key()) {
            let next = char::from(b'A' + (letters.len() % 26) as u8);
            letters.entry(workload.to_string()).or_insert(next);
        }
    }
    letters
}

/// Writes the devices of one resource, with the letter of the workload of each.
fn slots(
    state: &State,
    node: &NodeRow,
    resource: &str,
    pods: &[&PodRow],
    letters: &BTreeMap<String, char>,
    doc: &mut PageBuilder<'_>,
) {
    let count = |a: Option<&Amount>| a.map_or(0, |a| a.ceil().max(0)) as usize;
    let total = count(node.allocatable.get(resource));
    let mut signs: Vec<(String, Role)> = Vec::new();
    let mut used = 0;
    for pod in pods {
        let n = count(pod.requests.get(resource));
        used += n;
        let workload = state.derived.workload_of(pod.key());
        let letter = workload.and_then(|w| letters.get(&w.to_string()));
        let sign = letter.map_or_else(|| doc.glyphs.device_used.to_owned(), char::to_string);
        signs.extend((0..n.min(MAX_DEVICES)).map(|_| (sign.clone(), Role::Used)));
    }
    signs.truncate(total.min(MAX_DEVICES));
    while signs.len() < total.min(MAX_DEVICES) {
        signs.push((doc.glyphs.device_free.to_owned(), Role::Free));
    }
    doc.section(&format!("{resource}: {used} of {total} in use"));
    let max_width = doc.width();
    for line in signs.chunks(max_width.max(1)) {
        let spans = line
            .iter()
            .map(|(sign, role)| doc.span(sign.clone(), *role))
            .collect();
        doc.line(spans);
    }
}
