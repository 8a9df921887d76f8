//! Whose an object is: a controller adopts what its selector matches and nobody controls, and lets
//! go of what it no longer matches. Must not know any controller.

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::core::labels::{Selector, SelectorExt};
use kube::{Resource, ResourceExt};
use kueue_lab_runtime::Api;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::pod_template::controller_reference;
use kueue_lab_runtime::Informer;
use kueue_lab_runtime::api_errors::{is_conflict, is_not_found};

/// An informer's index of objects nobody controls: by namespace.
pub const UNCONTROLLED: &str = "uncontrolled";
/// An informer's index by the UID of the controlling owner.
pub const CONTROLLER_UID_INDEX: &str = "controller";

/// The values of [`UNCONTROLLED`].
pub fn uncontrolled<K: Resource>(object: &K) -> Vec<String> {
    match super::pods::controller_of(object) {
        Some(_) => Vec::new(),
        None => object.namespace().into_iter().collect(),
    }
}

/// A selector that can be asked. One that makes no sense matches nothing, and is `None`.
pub fn selector(selector: &LabelSelector) -> Option<Selector> {
    Selector::try_from(selector.clone()).ok()
}

/// Whether labels are matched.
pub fn matches<K: Resource>(selector: &Selector, object: &K) -> bool {
    selector.matches(object.labels())
}

/// Owners and what they can own, in namespaces, known at compile time.
pub trait NamespacedObject:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> NamespacedObject for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The objects `owner` controls, once it has adopted and released. Both indexes must be there.
///
/// # Errors
/// The API refused a change, or the owner is not the one that was known.
pub async fn claim<O: NamespacedObject, K: NamespacedObject>(
    client: &kube::Client,
    owner: &O,
    selects: &Selector,
    informer: &Informer<K>,
) -> Result<Vec<Arc<K>>, kube::Error> {
    let uid = owner.uid().unwrap_or_default();
    let namespace = owner.namespace().unwrap_or_default();
    let going = owner.meta().deletion_timestamp.is_some();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let mut claimed = Vec::new();
    for object in informer.by_index(CONTROLLER_UID_INDEX, &uid) {
        if matches(selects, object.as_ref()) {
            claimed.push(object);
        } else if !going {
            let release = json!([{"$patch": "delete", "uid": uid}]);
            patch(&api, informer, &object, release).await?;
        }
    }
    let mut orphans = informer.by_index(UNCONTROLLED, &namespace);
    orphans.retain(|o| o.meta().deletion_timestamp.is_none() && matches(selects, o.as_ref()));
    if going || orphans.is_empty() {
        return Ok(claimed);
    }
    let owners: Api<O> = Api::namespaced(client.clone(), &namespace);
    let fresh = owners.get_opt(&owner.name_any()).await?;
    let is_same = |o: &O| o.uid() == owner.uid() && o.meta().deletion_timestamp.is_none();
    if !fresh.is_some_and(|o| is_same(&o)) {
        return Ok(claimed);
    }
    for orphan in orphans {
        let adopt = json!([controller_reference(owner)]);
        claimed.extend(patch(&api, informer, &orphan, adopt).await?);
    }
    Ok(claimed)
}

/// Changes the owners of an object; what it is afterwards, if it is still there.
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
