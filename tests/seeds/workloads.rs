//! Workloads and their conditions.

use serde_json::Value;

use super::seed_lab::SeedLab;

/// The status and message of a condition.
pub(crate) fn condition(object: &Value, type_: &str) -> Option<(String, String)> {
    let mut all = object["status"]["conditions"].as_array()?.iter();
    let found = all.find(|condition| condition["type"] == type_)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Some((text("status"), text("message")))
}

/// The flavors of the first pod set of an admitted Workload.
pub(crate) fn flavors(workload: &Value) -> &Value {
    &workload["status"]["admission"]["podSetAssignments"][0]["flavors"]
}

impl SeedLab {
    /// The Workload of a job.
    pub(crate) async fn workload(&self, namespace: &str, job: &str) -> Option<Value> {
        let path = format!("/apis/kueue.x-k8s.io/v1beta1/namespaces/{namespace}/workloads");
        let workloads = self.kubectl.list(&path).await;
        let owned = |wl: &Value| wl["metadata"]["ownerReferences"][0]["name"] == job;
        workloads.into_iter().find(owned)
    }

    /// The Workload of a job, once it has this condition.
    pub(crate) async fn until_workload(
        &self,
        namespace: &str,
        job: &str,
        type_: &str,
        status: &str,
    ) -> Value {
        let what = format!("the Workload of {job} has {type_}={status}");
        self.until(&what, || async {
            let workload = self.workload(namespace, job).await?;
            (condition(&workload, type_)?.0 == status).then_some(workload)
        })
        .await
    }
}
