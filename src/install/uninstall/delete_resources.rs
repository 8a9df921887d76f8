//! Removing the kinds, and everything else that carries our label.

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
use crate::{InstallError, dynamic_objects, selector};
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

/// Stops the controller inside the cluster, if it is there.
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

/// Takes the finalizers off and removes the definitions that are ours.
pub(super) async fn delete_crds(
    client: &Client,
    clock: &Clock,
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    let mut going = Vec::new();
    for crd in CRDS {
        let there =
            dynamic_objects::get(client, &crds::crd_api_resource(), None, &crd.name()).await?;
        let Some(there) = there.filter(dynamic_objects::is_managed_by_lab) else {
            continue;
        };
        let notes = there.metadata.annotations.as_ref();
        if notes.is_some_and(|notes| notes.contains_key(CONVERSION_BEFORE_ANNOTATION)) {
            crds::restore_adopted_crd(client, &there).await?;
            report.kept.push(format!(
                "kind {} and its objects: it was there before kueue-lab",
                crd.name()
            ));
            continue;
        }
        going.push(crd);
    }
    for crd in &going {
        dynamic_objects::delete(client, &crds::crd_api_resource(), None, &crd.name()).await?;
    }
    // Objects are on their way now and no new ones can come; what holds them is taken off until
    // none is left.
    for crd in going {
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
    Err(InstallError::Refused {
        verb: "remove",
        what: format!("the kind {name}"),
        message: format!(
            "some of its objects do not go within {} s; `kubectl get {name} -A -o yaml` shows their finalizers",
            dynamic_objects::DELETION_TIMEOUT.as_secs()
        ),
    })
}

/// Removes everything else that carries our label; the namespace itself if it is ours.
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
    let kind = dynamic_objects::api_resource::<Namespace>();
    let there = dynamic_objects::get(client, &kind, None, namespace).await?;
    if there.is_some_and(|there| dynamic_objects::is_managed_by_lab(&there)) {
        dynamic_objects::delete(client, &kind, None, namespace).await?;
        // Whoever installs next shall not find one that is about to go.
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
