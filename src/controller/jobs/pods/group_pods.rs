//! Which pods belong to a group.

use k8s_openapi::api::core::v1::Pod;

use crate::informers::BY_POD_GROUP;
use crate::jobs::integration_context::IntegrationContext;
use kueue_lab_runtime::ObjectKey;

/// The pods of a group, by name.
pub fn pods_of_group(env: &IntegrationContext, group: &ObjectKey) -> Vec<Pod> {
    let key = format!("{}/{}", group.namespace, group.name);
    let found = env.shared.informers.pods.by_index(BY_POD_GROUP, &key);
    found.iter().map(|pod| pod.as_ref().clone()).collect()
}
