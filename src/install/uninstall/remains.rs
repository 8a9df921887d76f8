//! Removing the kinds, and everything else that carries our label.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;

use super::Report;
use crate::definitions::{self, ADOPTED};
use crate::{InstallError, access, selector};
use kueue_lab_api::constants::RESOURCE_IN_USE_FINALIZER;
use kueue_lab_api::crds::{CRDS, Crd};
use kueue_lab_clock::Clock;

fn named(object: &DynamicObject) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

fn objects_of(crd: &Crd) -> Option<ApiResource> {
    let version = crd.storage()?.name;
    let gvk = GroupVersionKind::gvk(crd.group, version, crd.kind);
    Some(ApiResource::from_gvk_with_plural(&gvk, crd.plural))
}

/// Stops the controller inside the cluster, if it is there.
pub(super) async fn controller(
    client: &Client,
    namespace: &str,
    report: &mut Report,
) -> Result<(), InstallError> {
    let kind = access::kind::<Deployment>();
    for deployment in access::list(client, &kind, Some(namespace), &selector()).await? {
        let name = named(&deployment);
        if access::delete(client, &kind, Some(namespace), name).await? {
            report
                .objects
                .push(format!("deployment {namespace}/{name}"));
        }
    }
    Ok(())
}

/// Takes the finalizers off and removes the definitions that are ours.
pub(super) async fn kinds(
    client: &Client,
    clock: &Clock,
    report: &mut Report,
) -> Result<(), InstallError> {
    let mut going = Vec::new();
    for crd in CRDS {
        let there = access::get(client, &definitions::kind(), None, &crd.name()).await?;
        let Some(there) = there.filter(access::is_ours) else {
            continue;
        };
        let notes = there.metadata.annotations.as_ref();
        if notes.is_some_and(|notes| notes.contains_key(ADOPTED)) {
            definitions::give_back(client, &there).await?;
            report.left.push(format!(
                "kind {} and its objects: it was there before kueue-lab",
                crd.name()
            ));
            continue;
        }
        going.push(crd);
    }
    for crd in &going {
        access::delete(client, &definitions::kind(), None, &crd.name()).await?;
    }
    // Objects are on their way now and no new ones can come; what holds them is taken off until
    // none is left.
    for crd in going {
        gone(client, clock, crd, report).await?;
        report.definitions.push(crd.name());
    }
    Ok(())
}

async fn gone(
    client: &Client,
    clock: &Clock,
    crd: &Crd,
    report: &mut Report,
) -> Result<(), InstallError> {
    let name = crd.name();
    let free = async || {
        if let Some(kind) = objects_of(crd) {
            report.finalizers +=
                access::without_finalizer(client, &kind, RESOURCE_IN_USE_FINALIZER).await?;
        }
        Ok(())
    };
    if access::goes(client, clock, &definitions::kind(), &name, free).await? {
        return Ok(());
    }
    Err(InstallError::Refused {
        verb: "remove",
        what: format!("the kind {name}"),
        message: format!(
            "some of its objects do not go within {} s; `kubectl get {name} -A -o yaml` shows their finalizers",
            access::GONE_AFTER.as_secs()
        ),
    })
}

/// Removes everything else that carries our label; the namespace itself if it is ours.
pub(super) async fn objects(
    client: &Client,
    clock: &Clock,
    namespace: &str,
    report: &mut Report,
) -> Result<(), InstallError> {
    let of_cluster = [
        access::kind::<ClusterRoleBinding>(),
        access::kind::<ClusterRole>(),
    ];
    for kind in of_cluster {
        for object in access::list(client, &kind, None, &selector()).await? {
            if access::delete(client, &kind, None, named(&object)).await? {
                report
                    .objects
                    .push(format!("{} {}", kind.kind.to_lowercase(), named(&object)));
            }
        }
    }
    let kind = access::kind::<Namespace>();
    let there = access::get(client, &kind, None, namespace).await?;
    if there.is_some_and(|there| access::is_ours(&there)) {
        access::delete(client, &kind, None, namespace).await?;
        // Whoever installs next shall not find one that is about to go.
        access::gone(client, clock, &kind, namespace).await?;
        report.objects.push(format!("namespace {namespace}"));
        return Ok(());
    }
    let of_namespace = [
        access::kind::<RoleBinding>(),
        access::kind::<Role>(),
        access::kind::<PodDisruptionBudget>(),
        access::kind::<Service>(),
        access::kind::<ConfigMap>(),
        access::kind::<Secret>(),
        access::kind::<Lease>(),
        access::kind::<ServiceAccount>(),
        access::kind::<Pod>(),
    ];
    for kind in of_namespace {
        for object in access::list(client, &kind, Some(namespace), &selector()).await? {
            if access::delete(client, &kind, Some(namespace), named(&object)).await? {
                let shown = kind.kind.to_lowercase();
                report
                    .objects
                    .push(format!("{shown} {namespace}/{}", named(&object)));
            }
        }
    }
    Ok(())
}
