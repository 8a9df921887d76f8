//! The view of Workloads: state, queue, priority, position, pods, age and status reason.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash};

use ratatui::layout::Rect;

use super::details::workload;
use super::queues::draw_incomplete_pod_groups;
use super::{Deletion, RowQuery, View, ViewInfo, ViewRows};
use crate::model::workload::{WorkloadRow, WorkloadState, status_reason};
use crate::model::{
    Kind, ManagedJobRef, ObjectKey, ObjectRef, Row, SKYPILOT_CLUSTER_LABEL, SkyPilotCluster,
};
use crate::state::{
    ListState, RowId, SortBy, State, TypedList, UnavailableReason, ViewId, requires,
};
use crate::text::age;
use crate::theme::Role;
use crate::widgets::format::{reason_spans, state_role};
use crate::widgets::table::{self, Cell, Column, ListArea};
use crate::widgets::{Canvas, PageBuilder};

/// Columns of the list from which names are shown in full before more columns are shown.
const WIDE_NAMES_MIN_WIDTH: u16 = 100;

/// The view of Workloads; a row is the name of a Workload.
pub(crate) struct WorkloadsView;

impl WorkloadsView {
    /// The identifier of a row.
    pub(crate) fn row_id(row: ObjectKey) -> RowId {
        RowId::new(ViewId::Workloads, row)
    }
}

impl View for WorkloadsView {
    fn info(&self) -> &'static ViewInfo {
        &ViewInfo {
            title: "Workloads",
            help: "workloads",
            command_names: &["workloads", "wl", "kwl", "workload", "jobs"],
            kind: Some(Kind::Workload),
            namespaced: true,
            side_panel: true,
            sorts: &[
                SortBy::Name,
                SortBy::State,
                SortBy::Queue,
                SortBy::Priority,
                SortBy::Position,
                SortBy::Age,
            ],
        }
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        state.ui.hide_finished.hash(hasher);
        state.data.workloads.revision().hash(hasher);
        state.data.local_queues.revision().hash(hasher);
        state.data.cluster_queues.revision().hash(hasher);
    }

    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows {
        let mut unfiltered = 0;
        let mut found: Vec<(WorkloadState, &WorkloadRow)> = Vec::new();
        for wl in state.data.workloads.iter() {
            let at = wl.state();
            if !state.shows_namespace(&wl.key().namespace)
                || (state.ui.hide_finished && at.is_finished())
            {
                continue;
            }
            unfiltered += 1;
            if query.passes(|| filter_text(state, wl, at), &wl.meta.labels) {
                found.push((at, wl));
            }
        }
        sort_rows(state, &mut found, query.sort_by());
        let rows = found.into_iter().map(|(_, wl)| wl.key().clone());
        query.in_direction(ViewId::Workloads, rows, unfiltered)
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        let list = TypedList::<ObjectKey>::new(list);
        let columns = columns(state, area.rows.width, one_namespace(&list));
        table::draw(canvas, area, &columns, list, |c, key| {
            let wl = state.data.workloads.get(key)?;
            Some(row(state, c, key, wl))
        });
    }

    fn empty_text(&self, state: &State) -> String {
        if requires::demos(state).is_ok() {
            "No workloads. Submit some (s), or run the demo (D)."
        } else if requires::submission(state).is_ok() {
            "No workloads. Submit some (s)."
        } else {
            "No workloads."
        }
        .to_owned()
    }

    fn draw_below(&self, state: &State, area: Rect, canvas: &mut Canvas<'_>) {
        draw_incomplete_pod_groups(state, area, canvas);
    }

    fn row_title(&self, id: &RowId) -> Option<String> {
        let key = id.get::<ObjectKey>()?;
        Some(format!("Workload {key}"))
    }

    fn row_name(&self, _: &State, id: &RowId) -> Option<String> {
        let key = id.get::<ObjectKey>()?;
        Some(key.name.clone())
    }

    fn caption(&self, state: &State, id: &RowId) -> Option<String> {
        let key = id.get::<ObjectKey>()?;
        let wl = state.data.workloads.get(key)?;
        if let Some(found) = state.derived.loop_of(&wl.meta.uid) {
            return Some(found.to_string());
        }
        let line = status_reason(wl, &state.data, &state.derived).line();
        Some(format!("{} in {}: {line}", wl.owner_text(), key.namespace))
    }

    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>) {
        let Some(key) = id.get::<ObjectKey>() else {
            return;
        };
        match state.data.workloads.get(key) {
            Some(wl) => workload::write(state, wl, page),
            None => page.not_found("Workload", &key.to_string()),
        }
    }

    fn object(&self, _: &State, id: &RowId) -> Option<ObjectRef> {
        let key = id.get::<ObjectKey>()?;
        Some(ObjectRef::watched(Kind::Workload, key.clone()))
    }

    /// Deletes the owners of the Workload: they would create it again.
    fn deletion(&self, state: &State, id: &RowId) -> Result<Deletion, UnavailableReason> {
        let key = id
            .get::<ObjectKey>()
            .ok_or(UnavailableReason::NotApplicable)?;
        let Some(wl) = state.data.workloads.get(key) else {
            let gone = format!("Workload {key} is gone already");
            return Err(UnavailableReason::Because(gone));
        };
        let owners = wl.owners.iter().map(|o| ObjectRef {
            api_version: o.api_version.clone(),
            kind: o.kind.clone(),
            key: ObjectKey::new(&key.namespace, &o.name),
        });
        let owners: Vec<ObjectRef> = owners.collect();
        Ok(if owners.is_empty() {
            Deletion {
                objects: self.object(state, id).into_iter().collect(),
                note: String::new(),
                managed_job: None,
            }
        } else {
            let managed_job = sky_pilot_cluster(state, &owners).map(|name| {
                ManagedJobRef::OfCluster(SkyPilotCluster {
                    name,
                    pods: owners.clone(),
                })
            });
            let launched = match managed_job {
                Some(_) => " Its managed job of SkyPilot is cancelled, if this lab runs it.",
                None => "",
            };
            Deletion {
                objects: owners,
                note: format!("Workload {key} is deleted with it.{launched}"),
                managed_job,
            }
        })
    }

    fn workload(&self, _: &State, id: &RowId) -> Option<ObjectKey> {
        let key = id.get::<ObjectKey>()?;
        Some(key.clone())
    }

    fn cluster_queue(&self, state: &State, id: &RowId) -> Option<String> {
        let key = id.get::<ObjectKey>()?;
        let wl = state.data.workloads.get(key)?;
        state.data.cluster_queue_of(wl).map(str::to_owned)
    }

    fn local_queue(&self, state: &State, id: &RowId) -> Option<ObjectKey> {
        let key = id.get::<ObjectKey>()?;
        let wl = state.data.workloads.get(key)?;
        let queue = ObjectKey::new(&key.namespace, &wl.queue);
        state.data.local_queues.get(&queue).map(|q| q.key().clone())
    }
}

/// The SkyPilot cluster that all of these objects are Pods of.
fn sky_pilot_cluster(state: &State, objects: &[ObjectRef]) -> Option<String> {
    let mut clusters = objects.iter().map(|object| {
        let pod = state.data.pods.get(&object.key);
        let pod = pod.filter(|_| object.kind == "Pod")?;
        pod.meta.labels.get(SKYPILOT_CLUSTER_LABEL).cloned()
    });
    let first = clusters.next().flatten()?;
    let same = clusters.all(|cluster| cluster.as_ref() == Some(&first));
    same.then_some(first)
}

fn filter_text(state: &State, wl: &WorkloadRow, at: WorkloadState) -> String {
    format!(
        "{} {} {} {} {} {} {}",
        wl.key(),
        at.as_str(),
        wl.queue,
        state.data.cluster_queue_of(wl).unwrap_or_default(),
        wl.priority_class.as_deref().unwrap_or_default(),
        wl.owner_text(),
        wl.worker_clusters.join(" ")
    )
}

/// Sorts Workloads; without a sort order by state, those that need attention first.
fn sort_rows(state: &State, found: &mut [(WorkloadState, &WorkloadRow)], by: Option<SortBy>) {
    let position = |wl: &WorkloadRow| {
        let position = state.derived.position(wl.key());
        position.map_or(usize::MAX, |p| p.number)
    };
    let created = |wl: &WorkloadRow| Reverse(wl.meta.created);
    match by {
        Some(SortBy::Name) => {}
        Some(SortBy::Queue) => found.sort_by(|(_, a), (_, b)| {
            (&a.key().namespace, &a.queue).cmp(&(&b.key().namespace, &b.queue))
        }),
        Some(SortBy::Priority) => found.sort_by_key(|(_, wl)| (Reverse(wl.priority), created(wl))),
        Some(SortBy::Position) => found.sort_by_key(|(at, wl)| (position(wl), *at)),
        Some(SortBy::Age) => found.sort_by_key(|(_, wl)| created(wl)),
        _ => found.sort_by_cached_key(|(at, wl)| {
            let queue = state.data.cluster_queue_of(wl).unwrap_or_default();
            match at {
                WorkloadState::Pending | WorkloadState::Evicted => {
                    (*at, queue, position(wl), Reverse(wl.priority), created(wl))
                }
                over if over.is_finished() => (*at, "", 0, Reverse(0), created(wl)),
                _ => (*at, queue, 0, Reverse(wl.priority), created(wl)),
            }
        }),
    }
}

/// The columns in a list of this width. A namespace that all rows share is not shown; positions exist for pending
/// workloads only.
fn columns(state: &State, width: u16, one_namespace: bool) -> [Column; 11] {
    let wide = width >= WIDE_NAMES_MIN_WIDTH;
    [
        Column::new("NS", 7, 16, 7).name().hidden_if(one_namespace),
        Column::new("NAME", 16, 40, 0)
            .name()
            .sort_by(SortBy::Name)
            .preferred(if wide { 30 } else { 20 }),
        Column::new("STATE", 8, 8, 1)
            .no_truncate()
            .sort_by(SortBy::State),
        Column::new("QUEUE", 8, 24, 3)
            .name()
            .sort_by(SortBy::Queue)
            .preferred(if wide { 24 } else { 10 }),
        Column::new("CLUSTERQUEUE", 12, 24, 9).no_truncate(),
        Column::new("PRI", 3, 8, 4)
            .right()
            .no_truncate()
            .sort_by(SortBy::Priority),
        Column::new("CLASS", 5, 16, 10).name(),
        Column::new("POS", 3, 6, 5)
            .right()
            .no_truncate()
            .sort_by(SortBy::Position)
            .hidden_if(!state.derived.has_pending_workloads()),
        Column::new("PODS", 4, 9, 8).right().no_truncate(),
        Column::new("AGE", 3, 6, 6)
            .right()
            .no_truncate()
            .sort_by(SortBy::Age),
        Column::new("REASON", 22, 120, 2).fraction(if wide { 3 } else { 0 }),
    ]
}

/// Whether all rows are in one namespace.
fn one_namespace(list: &TypedList<'_, ObjectKey>) -> bool {
    let mut all = list.rows().map(|key| key.namespace.as_str());
    let first = all.next();
    all.all(|ns| Some(ns) == first)
}

fn row(state: &State, c: &Canvas<'_>, key: &ObjectKey, wl: &WorkloadRow) -> Vec<Cell> {
    let at = wl.state();
    let over = at.is_finished() || at == WorkloadState::Inactive;
    let dimmed = if over { Role::Dim } else { Role::Text };
    let position = state.derived.position(wl.key());
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
        cell(&key.name, dimmed),
        cell(at.as_str(), state_role(at)),
        cell(&wl.queue, dimmed),
        cell(state.data.cluster_queue_of(wl).unwrap_or("-"), dimmed),
        cell(&wl.priority.to_string(), dimmed),
        cell(wl.priority_class.as_deref().unwrap_or("-"), dimmed),
        cell(
            &position.map_or_else(|| "-".to_owned(), |p| format!("#{}", p.number)),
            dimmed,
        ),
        cell(&pods, dimmed),
        cell(&age(state.data.now, wl.meta.created), dimmed),
        if over {
            cell(
                &status_reason(wl, &state.data, &state.derived).line(),
                Role::Dim,
            )
        } else {
            let mut reason = Vec::new();
            if !wl.worker_clusters.is_empty() {
                let clusters = format!("{}: ", wl.worker_clusters.join(" or "));
                reason.push(c.span(&clusters, Role::Bold));
            }
            if state.derived.loop_of(&wl.meta.uid).is_some() {
                reason.push(c.span("loop: ", Role::Error));
            }
            reason.extend(reason_spans(
                c,
                &status_reason(wl, &state.data, &state.derived),
            ));
            reason
        },
    ]
}
