//! Checks the permissions of a context's user with SelfSubjectAccessReviews.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{ObjectMeta, PostParams};
use kueue_lab_api::list_names;
use kueue_lab_controller_runtime::Api;

use super::PreflightError;

/// How many reviews run concurrently.
const AT_ONCE: usize = 8;
/// How many missing permissions are listed.
const NAMED: usize = 4;

/// Required permissions: verbs, group and `resource` or `resource/subresource`.
const REQUIRED_PERMISSIONS: &[(&[&str], &str, &str)] = &[
    (
        &["get", "create", "patch"],
        "apiextensions.k8s.io",
        "customresourcedefinitions",
    ),
    (
        &["get", "create", "patch", "delete"],
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
    ),
    (
        &["get", "create", "patch", "delete"],
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
    ),
    (&["get", "list", "watch", "create"], "", "namespaces"),
    (&["list", "watch", "create", "patch", "delete"], "", "nodes"),
    (&["patch"], "", "nodes/status"),
    (&["list", "watch", "patch", "delete"], "", "pods"),
    (&["patch"], "", "pods/status"),
    (&["create", "patch"], "", "configmaps"),
    (&["list", "watch"], "", "limitranges"),
    (&["create", "patch"], "events.k8s.io", "events"),
    (&["create", "patch"], "coordination.k8s.io", "leases"),
    (&["list", "watch"], "scheduling.k8s.io", "priorityclasses"),
    (&["list", "watch"], "node.k8s.io", "runtimeclasses"),
    (&["list", "watch"], "resource.k8s.io", "deviceclasses"),
    (
        &["list", "watch"],
        "resource.k8s.io",
        "resourceclaimtemplates",
    ),
    (&["list", "watch"], "resource.k8s.io", "resourceslices"),
    (&["list", "watch", "patch", "update"], "batch", "jobs"),
    (
        &["list", "watch", "create", "patch", "delete"],
        "kueue.x-k8s.io",
        "workloads",
    ),
    (&["patch"], "kueue.x-k8s.io", "workloads/status"),
    (
        &["list", "watch", "create", "patch", "delete"],
        "kueue.x-k8s.io",
        "clusterqueues",
    ),
    (&["patch"], "kueue.x-k8s.io", "clusterqueues/status"),
    (
        &["list", "watch", "create", "patch", "delete"],
        "kueue.x-k8s.io",
        "localqueues",
    ),
    (
        &["list", "watch", "create", "patch", "delete"],
        "kueue.x-k8s.io",
        "resourceflavors",
    ),
];

/// Fails if a permission is missing.
pub(super) async fn check(client: &Client) -> Result<(), PreflightError> {
    // An administrator needs one review only.
    if can_i(client, "*", "*", "*").await? {
        return Ok(());
    }
    let asked: Vec<_> = REQUIRED_PERMISSIONS
        .iter()
        .flat_map(|(verbs, group, resource)| verbs.iter().map(move |v| (*v, *group, *resource)))
        .collect();
    let answers: Vec<(bool, String)> = futures::stream::iter(asked)
        .map(|(verb, group, resource)| async move {
            let allowed = can_i(client, verb, group, resource).await?;
            Ok::<_, PreflightError>((allowed, permission_text(verb, group, resource)))
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let missing: Vec<String> = answers
        .into_iter()
        .filter_map(|(allowed, what)| (!allowed).then_some(what))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(PreflightError::MissingPermissions {
            missing: list_names(&missing, NAMED),
        }),
    }
}

async fn can_i(
    client: &Client,
    verb: &str,
    group: &str,
    resource: &str,
) -> Result<bool, PreflightError> {
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (resource, None),
    };
    let review = SelfSubjectAccessReview {
        metadata: ObjectMeta::default(),
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource,
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        status: None,
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await;
    let answer = answer.map_err(|e| PreflightError::CannotVerify {
        what: "the permissions of the user of this context",
        reason: e.to_string(),
    })?;
    Ok(answer.status.is_some_and(|s| s.allowed))
}

fn permission_text(verb: &str, group: &str, resource: &str) -> String {
    match group {
        "" => format!("{verb} {resource}"),
        group => format!("{verb} {resource}.{group}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_permissions_use_rbac_terms() {
        assert_eq!(
            permission_text("patch", "apps", "deployments"),
            "patch deployments.apps"
        );
        assert_eq!(
            permission_text("patch", "", "nodes/status"),
            "patch nodes/status"
        );
    }
}
