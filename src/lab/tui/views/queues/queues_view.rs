//! The view of queues.

use std::hash::{DefaultHasher, Hash};

use ratatui::layout::Rect;

use super::quota_caption::quota_caption;
use super::{draw, pending_overview, rows};
use crate::model::cohort_tree::QuotaNode;
use crate::model::queues::FlavorResource;
use crate::model::{Kind, ObjectKey, ObjectRef, Row};
use crate::state::{ListState, RowId, State, TypedList, UnavailableReason, ViewId, requires};
use crate::views::details::queue;
use crate::views::name_pattern::any_name_pattern;
use crate::views::{Deletion, RelatedWorkloads, RowQuery, View, ViewInfo, ViewRows};
use crate::widgets::table::ListArea;
use crate::widgets::{Canvas, PageBuilder};
use kueue_lab_api::constants::ACTIVE;

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QueueRow {
    /// A ClusterQueue or Cohort.
    Node(QuotaNode),
    /// The quota of one resource of it.
    Quota(QuotaNode, FlavorResource),
    /// A LocalQueue of a ClusterQueue.
    LocalQueue(ObjectKey),
}

/// The view of queues as a cohort tree.
pub(crate) struct QueuesView;

impl QueuesView {
    /// The identifier of a row.
    pub(crate) fn row_id(row: QueueRow) -> RowId {
        RowId::new(ViewId::Queues, row)
    }
}

impl View for QueuesView {
    fn info(&self) -> &'static ViewInfo {
        &ViewInfo {
            title: "Queues",
            help: "queues as a cohort tree",
            command_names: &[
                "queues",
                "cq",
                "clusterqueue",
                "clusterqueues",
                "lq",
                "localqueue",
                "localqueues",
                "cohort",
                "cohorts",
            ],
            kind: Some(Kind::ClusterQueue),
            namespaced: true,
            side_panel: true,
            sorts: &[],
        }
    }

    fn list_status(&self, list: &ListState) -> String {
        let filter = list.filter.as_ref();
        filter.map_or_else(String::new, |f| format!("/{}", f.text))
    }

    /// None: the lines below the tree show pending workloads.
    fn free_lines(&self, _: usize, _: u16) -> u16 {
        0
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        state.ui.folded.hash(hasher);
        state.data.cluster_queues.revision().hash(hasher);
        state.data.local_queues.revision().hash(hasher);
        state.data.cohorts.revision().hash(hasher);
    }

    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows {
        rows::rows(state, query)
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        draw::draw(state, area, TypedList::new(list), canvas);
    }

    fn empty_text(&self, state: &State) -> String {
        if requires::presets(state).is_ok() {
            "No ClusterQueues. Apply some, or switch to a preset (p)."
        } else if requires::submission(state).is_ok() {
            "No ClusterQueues. Apply some."
        } else {
            "No ClusterQueues."
        }
        .to_owned()
    }

    fn draw_below(&self, state: &State, area: Rect, canvas: &mut Canvas<'_>) {
        if !state.ui.list().rows.is_empty() {
            pending_overview::draw(state, area, canvas);
        }
    }

    fn row_title(&self, id: &RowId) -> Option<String> {
        let row = id.get::<QueueRow>()?;
        Some(match row {
            QueueRow::Node(QuotaNode::ClusterQueue(name))
            | QueueRow::Quota(QuotaNode::ClusterQueue(name), _) => format!("ClusterQueue {name}"),
            QueueRow::Node(QuotaNode::Cohort(name))
            | QueueRow::Quota(QuotaNode::Cohort(name), _) => format!("Cohort {name}"),
            QueueRow::LocalQueue(key) => format!("LocalQueue {key}"),
        })
    }

    fn row_name(&self, _: &State, id: &RowId) -> Option<String> {
        let row = id.get::<QueueRow>()?;
        Some(match row {
            QueueRow::Node(node) | QueueRow::Quota(node, _) => node.name().to_owned(),
            QueueRow::LocalQueue(key) => key.name.clone(),
        })
    }

    fn caption(&self, state: &State, id: &RowId) -> Option<String> {
        let row = id.get::<QueueRow>()?;
        Some(match row {
            QueueRow::Node(QuotaNode::ClusterQueue(name)) => {
                let cq = state.data.cluster_queues.named(name)?;
                if let Some(found) = state.derived.loops_in(&state.data, name).next() {
                    return Some(found.to_string());
                }
                match cq.conditions.when_false(ACTIVE) {
                    Some(c) => format!("{name}: {}", c.message),
                    None => format!(
                        "{name}: preempts within the queue: {}, reclaims in the cohort: {}",
                        cq.preemption.within_cluster_queue(),
                        cq.preemption.reclaim_within_cohort()
                    ),
                }
            }
            QueueRow::Node(node @ QuotaNode::Cohort(name)) => {
                let queues = state.derived.cohort_tree.descendant_cluster_queues(node);
                format!("cohort {name} shares quota among {}", queues.join(", "))
            }
            QueueRow::Quota(node, fr) => quota_caption(state, node, fr),
            QueueRow::LocalQueue(key) => {
                let lq = state.data.local_queues.get(key)?;
                let inactive = lq.conditions.when_false(ACTIVE);
                let message = inactive.map_or(String::new(), |c| format!(": {}", c.message));
                format!("{key}: ClusterQueue {}{message}", lq.cluster_queue)
            }
        })
    }

    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>) {
        let Some(row) = id.get::<QueueRow>() else {
            return;
        };
        match row {
            QueueRow::Node(QuotaNode::ClusterQueue(name))
            | QueueRow::Quota(QuotaNode::ClusterQueue(name), _) => {
                match state.data.cluster_queues.named(name) {
                    Some(cq) => queue::cluster_queue(state, cq, page),
                    None => page.not_found("ClusterQueue", name),
                }
            }
            QueueRow::Node(QuotaNode::Cohort(name))
            | QueueRow::Quota(QuotaNode::Cohort(name), _) => queue::cohort(state, name, page),
            QueueRow::LocalQueue(key) => match state.data.local_queues.get(key) {
                Some(lq) => queue::local_queue(state, lq, page),
                None => page.not_found("LocalQueue", &key.to_string()),
            },
        }
    }

    fn object(&self, state: &State, id: &RowId) -> Option<ObjectRef> {
        let row = id.get::<QueueRow>()?;
        let (kind, key) = match row {
            QueueRow::Node(node) | QueueRow::Quota(node, _) => {
                // An implicit Cohort is only a name in other objects.
                state.derived.cohort_tree.exists(node).then_some(())?;
                let kind = match node {
                    QuotaNode::ClusterQueue(_) => Kind::ClusterQueue,
                    QuotaNode::Cohort(_) => Kind::Cohort,
                };
                (kind, ObjectKey::cluster(node.name()))
            }
            QueueRow::LocalQueue(key) => (Kind::LocalQueue, key.clone()),
        };
        Some(ObjectRef::watched(kind, key))
    }

    fn deletion(&self, state: &State, id: &RowId) -> Result<Deletion, UnavailableReason> {
        let row = id
            .get::<QueueRow>()
            .ok_or(UnavailableReason::NotApplicable)?;
        let note = match row {
            QueueRow::Node(_) | QueueRow::Quota(..) => {
                "It is deleted when no workload reserves its quota."
            }
            QueueRow::LocalQueue(_) => "Its workloads stay, and cannot be admitted without it.",
        };
        let object = self.object(state, id).ok_or_else(|| {
            let name = self.row_name(state, id).unwrap_or_default();
            UnavailableReason::Because(format!(
                "Cohort {name} is implicit: there is no object to delete"
            ))
        })?;
        Ok(Deletion {
            objects: vec![object],
            note: note.to_owned(),
            managed_job: None,
        })
    }

    fn related_workloads(&self, state: &State, id: &RowId) -> Option<RelatedWorkloads> {
        let row = id.get::<QueueRow>()?;
        let names = match row {
            QueueRow::Node(QuotaNode::ClusterQueue(name))
            | QueueRow::Quota(QuotaNode::ClusterQueue(name), _) => vec![name.as_str()],
            QueueRow::Node(node) | QueueRow::Quota(node, _) => {
                state.derived.cohort_tree.descendant_cluster_queues(node)
            }
            QueueRow::LocalQueue(key) => vec![key.name.as_str()],
        };
        Some(RelatedWorkloads::Filter(any_name_pattern(&names)))
    }

    fn local_queue(&self, state: &State, id: &RowId) -> Option<ObjectKey> {
        let row = id.get::<QueueRow>()?;
        match row {
            QueueRow::LocalQueue(key) => Some(key.clone()),
            QueueRow::Node(QuotaNode::ClusterQueue(name))
            | QueueRow::Quota(QuotaNode::ClusterQueue(name), _) => {
                let mut queues = state.data.local_queues_of(name);
                queues.next().map(|q| q.key().clone())
            }
            QueueRow::Node(QuotaNode::Cohort(_)) | QueueRow::Quota(QuotaNode::Cohort(_), _) => None,
        }
    }
}
