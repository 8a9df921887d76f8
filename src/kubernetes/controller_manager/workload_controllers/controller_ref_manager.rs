//! Controller references: adopts matching orphans and releases dependents that no longer match.
//! Must not depend on any controller.

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::core::labels::{Selector, SelectorExt};
use kube::{Resource, ResourceExt};
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::{Api, controller_of, controller_reference};
use serde_json::{Value, json};

use kueue_lab_controller_runtime::Informer;
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;

/// Informer index of objects without a controller, by namespace.
pub(crate) const UNCONTROLLED: &str = "uncontrolled";

/// The values of [`UNCONTROLLED`].
pub(crate) fn uncontrolled<K: Resource>(object: &K) -> Vec<String> {
    match controller_of(object.meta()) {
        Some(_) => Vec::new(),
        None => object.namespace().into_iter().collect(),
    }
}

/// A parsed selector; `None` if it is invalid or matches nothing.
pub(crate) fn selector(selector: &LabelSelector) -> Option<Selector> {
    Selector::try_from(selector.clone()).ok()
}

/// Whether labels are matched.
pub(crate) fn matches<K: Resource>(selector: &Selector, object: &K) -> bool {
    selector.matches(object.labels())
}

/// Namespaced owners and dependents with static types.
pub(crate) trait NamespacedObject:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Codec
    + Send
    + Sync
    + 'static
{
}

impl<K> NamespacedObject for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Codec
        + Send
        + Sync
        + 'static
{
}

/// The objects that `owner` controls, after adoption and release; `None` if its selector is invalid
/// or matches nothing. Requires both indexes.
///
/// # Errors
/// The API server rejected a change, or the owner's UID has changed.
pub(crate) async fn claim<O: NamespacedObject, K: NamespacedObject>(
    client: &kube::Client,
    owner: &O,
    label_selector: &LabelSelector,
    informer: &Informer<K>,
) -> Result<Option<Vec<Arc<K>>>, kube::Error> {
    let Some(selector) = selector(label_selector) else {
        return Ok(None);
    };
    let uid = owner.uid().unwrap_or_default();
    let namespace = owner.namespace().unwrap_or_default();
    let deleting = owner.meta().deletion_timestamp.is_some();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let mut claimed = Vec::new();
    for object in informer.by_index(CONTROLLER_UID_INDEX, &uid) {
        if matches(&selector, object.as_ref()) {
            claimed.push(object);
        } else if !deleting {
            let release = json!([{"$patch": "delete", "uid": uid}]);
            patch(&api, informer, &object, release).await?;
        }
    }
    let mut orphans = informer.by_index(UNCONTROLLED, &namespace);
    orphans.retain(|o| o.meta().deletion_timestamp.is_none() && matches(&selector, o.as_ref()));
    if deleting || orphans.is_empty() {
        return Ok(Some(claimed));
    }
    let owners: Api<O> = Api::namespaced(client.clone(), &namespace);
    let fresh = owners.get_opt(&owner.name_any()).await?;
    let is_same = |o: &O| o.uid() == owner.uid() && o.meta().deletion_timestamp.is_none();
    if !fresh.is_some_and(|o| is_same(&o)) {
        return Ok(Some(claimed));
    }
    for orphan in orphans {
        let adopt = json!([controller_reference(owner)]);
        claimed.extend(patch(&api, informer, &orphan, adopt).await?);
    }
    Ok(Some(claimed))
}

/// Patches the owner references of an object; returns the result, if it still exists.
async fn patch<K: NamespacedObject>(
    api: &Api<K>,
    informer: &Informer<K>,
    object: &K,
    owners: Value,
) -> Result<Option<Arc<K>>, kube::Error> {
    let patch = json!({"metadata": {"uid": object.uid(), "ownerReferences": owners}});
    let name = object.name_any();
    let params = PatchParams::default();
    match api.patch(&name, &params, &Patch::Strategic(patch)).await {
        Ok(patched) => {
            let patched = Arc::new(patched);
            informer.observe_write(patched.clone());
            Ok(Some(patched))
        }
        Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
