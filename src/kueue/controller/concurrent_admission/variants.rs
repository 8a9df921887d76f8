//! Creates the variants of a Workload and deletes stale ones.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::DeleteParams;

use super::controller::{quoted, record_event};
use super::variant_family::VariantFamily;
use crate::ControllerContext;
use crate::jobs::integration_manager::Gvk;
use crate::jobs::workload_names::variant_name;
use crate::update::post_params;
use crate::workload_patching;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c, event};
use kueue_lab_api::v1beta2::{API_VERSION, PreemptionGate, Workload};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_engine::concurrent_admission::variant_flavor;
use kueue_lab_engine::workload::predicates;

/// Creates a variant for each flavor without one.
pub(super) async fn create_variants(
    shared: &ControllerContext,
    family: &VariantFamily,
) -> kube::Result<()> {
    let parent = &family.parent;
    let short = shared.settings.enabled(Feature::ShortWorkloadNames);
    for flavor in &family.flavors {
        let known = family.variants.iter();
        if known.clone().any(|wl| variant_flavor(wl) == Some(flavor)) {
            continue;
        }
        let variant = generate_variant(parent, flavor, short);
        let api = workload_patching::workload_api(shared, predicates::namespace(parent));
        match api.create(&post_params(), &variant).await {
            Ok(written) => shared.informers.workloads.observe_write(Arc::new(written)),
            Err(kube::Error::Api(status)) if status.code == 409 => continue,
            Err(error) => return Err(error),
        }
        let message = format!("Variant Workload {} created", quoted(&variant));
        record_event(shared, parent, event::CREATED_VARIANT, message);
    }
    Ok(())
}

/// A copy of the parent that is restricted to one flavor, with a closed preemption gate.
fn generate_variant(parent: &Workload, flavor: &str, short: bool) -> Workload {
    let (name, uid) = (predicates::name(parent), predicates::uid(parent));
    let mut labels = parent.metadata.labels.clone().unwrap_or_default();
    labels.remove(c::CONCURRENT_ADMISSION_PARENT_LABEL);
    let mut annotations = parent.metadata.annotations.clone().unwrap_or_default();
    let only = c::WORKLOAD_ALLOWED_RESOURCE_FLAVORS_ANNOTATION;
    annotations.insert(only.to_owned(), flavor.to_owned());
    let kind = Gvk::new("kueue.x-k8s.io", "v1beta2", "Workload");
    let mut spec = parent.spec.clone();
    let gate = c::CONCURRENT_ADMISSION_PREEMPTION_GATE;
    if !spec.preemption_gates.iter().any(|g| g.name == gate) {
        spec.preemption_gates.push(PreemptionGate {
            name: gate.to_owned(),
        });
    }
    Workload {
        metadata: ObjectMeta {
            name: Some(variant_name(name, uid, &kind, flavor, short)),
            namespace: parent.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: Some(annotations),
            owner_references: Some(vec![OwnerReference {
                api_version: API_VERSION.to_owned(),
                kind: "Workload".to_owned(),
                name: name.to_owned(),
                uid: uid.to_owned(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]),
            ..Default::default()
        },
        spec,
        ..Default::default()
    }
}

/// Deletes variants whose flavor was removed from the ClusterQueue.
pub(super) async fn delete_stale_variants(
    shared: &ControllerContext,
    family: &mut VariantFamily,
) -> kube::Result<()> {
    let flavors = &family.flavors;
    let has_flavor = |wl: &Arc<Workload>| {
        variant_flavor(wl).is_some_and(|flavor| flavors.iter().any(|f| f == flavor))
    };
    let variants = std::mem::take(&mut family.variants);
    let (current, stale): (Vec<_>, Vec<_>) = variants.into_iter().partition(has_flavor);
    family.variants = current;
    for wl in stale {
        if wl.metadata.deletion_timestamp.is_none() {
            let api = workload_patching::workload_api(shared, predicates::namespace(&wl));
            let params = DeleteParams::default();
            let deleted = api.delete(predicates::name(&wl), &params).await;
            ignore_not_found(deleted)?;
        }
        let flavor = variant_flavor(&wl).unwrap_or_default();
        let message = format!(
            "Variant Workload {} deleted; flavor {flavor:?} no longer in ClusterQueue",
            quoted(&wl)
        );
        record_event(shared, &family.parent, event::DELETED_VARIANT, message);
    }
    Ok(())
}
