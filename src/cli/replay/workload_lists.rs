//! [`WorkloadLists`]: the Workloads of a cluster by lists alone.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::ListParams;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use kueue_lab_api::constants::FINISHED;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::Api;

/// The time between two lists.
pub(super) const LIST_INTERVAL: Duration = Duration::from_secs(5);

/// Lists the Workloads of a cluster repeatedly.
#[derive(Default)]
pub(super) struct WorkloadLists {
    /// Those of the last list that were not finished, by UID.
    unfinished: BTreeMap<String, Workload>,
}

impl WorkloadLists {
    /// Lists all Workloads. Unfinished ones of the last list that are not in this one are deleted.
    ///
    /// # Errors
    /// The request fails.
    pub(super) async fn events(
        &mut self,
        client: &Client,
    ) -> Result<Vec<Event<Workload>>, kube::Error> {
        let api: Api<Workload> = Api::all(client.clone());
        let listed = api.list(&ListParams::default()).await?.items;
        Ok(self.changes(listed))
    }

    fn changes(&mut self, listed: Vec<Workload>) -> Vec<Event<Workload>> {
        let mut before = std::mem::take(&mut self.unfinished);
        for wl in &listed {
            let uid = wl.uid().unwrap_or_default();
            before.remove(&uid);
            if !wl.is_condition_true(FINISHED) {
                self.unfinished.insert(uid, wl.clone());
            }
        }
        let deleted = before.into_values().map(Event::Delete);
        deleted
            .chain(listed.into_iter().map(Event::Apply))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workload(name: &str, finished: bool) -> Workload {
        let status = if finished { "True" } else { "False" };
        let condition = json!({"type": "Finished", "status": status, "reason": "", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let wl = json!({"metadata": {"name": name, "uid": name}, "spec": {"podSets": []},
            "status": {"conditions": [condition]}});
        serde_json::from_value(wl).unwrap()
    }

    /// `deleted NAME` and `NAME`.
    fn texts(events: Vec<Event<Workload>>) -> Vec<String> {
        let text = |event| match event {
            Event::Delete(wl) => format!("deleted {}", ResourceExt::name_any(&wl)),
            Event::Apply(wl) => ResourceExt::name_any(&wl),
            _ => panic!("no event of a list"),
        };
        events.into_iter().map(text).collect()
    }

    #[test]
    fn unfinished_workloads_that_are_not_listed_any_more_are_deleted() {
        let mut lists = WorkloadLists::default();
        let first = vec![
            workload("a", false),
            workload("b", true),
            workload("c", false),
        ];
        assert_eq!(texts(lists.changes(first)), ["a", "b", "c"]);
        let second = vec![workload("a", true)];
        assert_eq!(texts(lists.changes(second)), ["deleted c", "a"]);
        assert_eq!(texts(lists.changes(Vec::new())), Vec::<String>::new());
    }
}
