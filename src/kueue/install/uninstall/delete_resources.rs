//! Deletes the CRDs and all other objects with the lab's label.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;

use super::UninstallReport;
use crate::crds::{self, CONVERSION_BEFORE_ANNOTATION};
use crate::{InstallError, dynamic_objects, is_managed_by_lab, selector};
use kueue_lab_api::constants::RESOURCE_IN_USE_FINALIZER;
use kueue_lab_api::crds::{CRDS, Crd};
use kueue_lab_clock::Clock;

fn named(object: &DynamicObject) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

fn crd_objects_resource(crd: &Crd) -> Option<ApiResource> {
    let version = crd.storage()?.name;
    let gvk = GroupVersionKind::gvk(crd.group, version, crd.kind);
    Some(ApiResource::from_gvk_with_plural(&gvk, crd.plural))
}

/// Deletes the Deployment of the controller, if it exists.
pub(super) async fn delete_controller_deployment(
    client: &Client,
    namespace: &str,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let kind = dynamic_objects::api_resource::<Deployment>();
    for deployment in dynamic_objects::list(client, &kind, Some(namespace), &selector()).await? {
        let name = named(&deployment);
        if dynamic_objects::delete(client, &kind, Some(namespace), name).await? {
            report
                .objects
                .push(format!("deployment {namespace}/{name}"));
        }
    }
    Ok(())
}

/// Removes finalizers and deletes the CRDs managed by the lab.
pub(super) async fn delete_crds(
    client: &Client,
    clock: &Clock,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let mut to_delete = Vec::new();
    for crd in CRDS {
        let existing =
            dynamic_objects::get(client, &crds::crd_api_resource(), None, &crd.name()).await?;
        let Some(existing) = existing.filter(is_managed_by_lab) else {
            continue;
        };
        let annotations = existing.metadata.annotations.as_ref();
        if annotations
            .is_some_and(|annotations| annotations.contains_key(CONVERSION_BEFORE_ANNOTATION))
        {
            crds::restore_adopted_crd(client, &existing).await?;
            report.kept.push(format!(
                "kind {} and its objects: it existed before kueue-lab",
                crd.name()
            ));
            continue;
        }
        to_delete.push(crd);
    }
    for crd in &to_delete {
        dynamic_objects::delete(client, &crds::crd_api_resource(), None, &crd.name()).await?;
    }
    // The objects are terminating and no new ones can be created; finalizers are removed until none
    // is left.
    for crd in to_delete {
        wait_for_crd_deletion(client, clock, crd, report).await?;
        report.definitions.push(crd.name());
    }
    Ok(())
}

async fn wait_for_crd_deletion(
    client: &Client,
    clock: &Clock,
    crd: &Crd,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let name = crd.name();
    let free = async || {
        if let Some(kind) = crd_objects_resource(crd) {
            report.finalizers +=
                dynamic_objects::remove_finalizer(client, &kind, RESOURCE_IN_USE_FINALIZER).await?;
        }
        Ok(())
    };
    if dynamic_objects::wait_for_deletion(client, clock, &crds::crd_api_resource(), &name, free)
        .await?
    {
        return Ok(());
    }
    Err(InstallError::Rejected {
        verb: "remove",
        what: format!("the kind {name}"),
        message: format!(
            "some of its objects are not deleted within {} s; `kubectl get {name} -A -o yaml` shows their finalizers",
            dynamic_objects::DELETION_TIMEOUT.as_secs()
        ),
    })
}

/// Deletes all other objects with the lab's label, and the namespace if it has the label.
pub(super) async fn delete_managed_objects(
    client: &Client,
    clock: &Clock,
    namespace: &str,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let of_cluster = [
        dynamic_objects::api_resource::<ClusterRoleBinding>(),
        dynamic_objects::api_resource::<ClusterRole>(),
    ];
    for kind in of_cluster {
        for object in dynamic_objects::list(client, &kind, None, &selector()).await? {
            if dynamic_objects::delete(client, &kind, None, named(&object)).await? {
                report
                    .objects
                    .push(format!("{} {}", kind.kind.to_lowercase(), named(&object)));
            }
        }
    }
    // The right to read how the API server authenticates to extension API servers.
    let kind = dynamic_objects::api_resource::<RoleBinding>();
    for object in dynamic_objects::list(client, &kind, Some("kube-system"), &selector()).await? {
        if dynamic_objects::delete(client, &kind, Some("kube-system"), named(&object)).await? {
            let removed = format!("rolebinding kube-system/{}", named(&object));
            report.objects.push(removed);
        }
    }
    let kind = dynamic_objects::api_resource::<Namespace>();
    let existing = dynamic_objects::get(client, &kind, None, namespace).await?;
    if existing.is_some_and(|existing| is_managed_by_lab(&existing)) {
        dynamic_objects::delete(client, &kind, None, namespace).await?;
        // Waits, so that the next install does not find a terminating namespace.
        dynamic_objects::ensure_deleted(client, clock, &kind, namespace).await?;
        report.objects.push(format!("namespace {namespace}"));
        return Ok(());
    }
    let of_namespace = [
        dynamic_objects::api_resource::<RoleBinding>(),
        dynamic_objects::api_resource::<Role>(),
        dynamic_objects::api_resource::<PodDisruptionBudget>(),
        dynamic_objects::api_resource::<Service>(),
        dynamic_objects::api_resource::<ConfigMap>(),
        dynamic_objects::api_resource::<Secret>(),
        dynamic_objects::api_resource::<Lease>(),
        dynamic_objects::api_resource::<ServiceAccount>(),
        dynamic_objects::api_resource::<Pod>(),
    ];
    for kind in of_namespace {
        for object in dynamic_objects::list(client, &kind, Some(namespace), &selector()).await? {
            if dynamic_objects::delete(client, &kind, Some(namespace), named(&object)).await? {
                let shown = kind.kind.to_lowercase();
                report
                    .objects
                    .push(format!("{shown} {namespace}/{}", named(&object)));
            }
        }
    }
    Ok(())
}
