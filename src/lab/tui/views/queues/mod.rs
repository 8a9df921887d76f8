//! The view of queues: Cohorts, ClusterQueues and LocalQueues as a tree.

mod draw;
mod pending_overview;
mod queues_view;
mod quota_caption;
mod rows;

pub(super) use pending_overview::draw_incomplete_pod_groups;
pub(crate) use queues_view::{QueueRow, QueuesView};
