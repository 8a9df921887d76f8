//! Reads, applies and deletes objects of any kind; errors name the verb and the object.

use std::fmt::Debug;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, Resource};
use kueue_lab_controller_runtime::Api;
use serde::Serialize;
use serde_json::{Value, json};

use super::{FIELD_MANAGER, InstallError, MANAGED_BY};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::api_errors::is_not_found;

/// Page size of lists.
const PAGE: u32 = 500;
/// Concurrent writes.
pub(super) const MAX_CONCURRENT_WRITES: usize = 8;
/// Timeout of a deletion.
pub(super) const DELETION_TIMEOUT: Duration = Duration::from_secs(120);
/// Poll interval during a deletion.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The resource of a built-in kind.
pub(super) fn api_resource<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

fn api(client: &Client, kind: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, kind),
        None => Api::all_with(client.clone(), kind),
    }
}

fn describe(kind: &ApiResource, name: &str) -> String {
    let group = match kind.group.as_str() {
        "" => String::new(),
        group => format!(".{group}"),
    };
    match name {
        "" => format!("{}{group}", kind.plural),
        name => format!("{}{group} {name:?}", kind.plural),
    }
}

/// An object by name, if it exists.
pub(super) async fn get(
    client: &Client,
    kind: &ApiResource,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<DynamicObject>, InstallError> {
    let got = api(client, kind, namespace).get_opt(name).await;
    got.map_err(|e| InstallError::of("get", describe(kind, name), e))
}

/// Applies an object with the lab's label.
pub(super) async fn apply(
    client: &Client,
    kind: &ApiResource,
    namespace: Option<&str>,
    mut object: Value,
) -> Result<DynamicObject, InstallError> {
    let name = object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    object["metadata"]["labels"][MANAGED_BY.0] = MANAGED_BY.1.into();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let patch = Patch::Apply(&object);
    let applied = api(client, kind, namespace)
        .patch(&name, &params, &patch)
        .await;
    applied.map_err(|e| InstallError::of("patch", describe(kind, &name), e))
}

/// The objects of a kind that a label selector matches, in one or all namespaces; none if the
/// cluster does not serve the kind.
pub(super) async fn list(
    client: &Client,
    kind: &ApiResource,
    namespace: Option<&str>,
    labels: &str,
) -> Result<Vec<DynamicObject>, InstallError> {
    let api = api(client, kind, namespace);
    let mut params = ListParams::default().labels(labels).limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page = match api.list(&params).await {
            Ok(page) => page,
            Err(error) if is_not_found(&error) => return Ok(all),
            Err(error) => return Err(InstallError::of("list", describe(kind, ""), error)),
        };
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(all),
        }
    }
}

/// Patches an object. False if it does not exist.
pub(super) async fn patch<P: Serialize + Debug>(
    client: &Client,
    kind: &ApiResource,
    object: &DynamicObject,
    patch: &Patch<P>,
) -> Result<bool, kube::Error> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let api = api(client, kind, object.metadata.namespace.as_deref());
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    match api.patch(name, &params, patch).await {
        Ok(_) => Ok(true),
        Err(error) if is_not_found(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The error of a failed patch.
pub(super) fn patch_error(
    kind: &ApiResource,
    object: &DynamicObject,
    error: kube::Error,
) -> InstallError {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    InstallError::of("patch", describe(kind, name), error)
}

/// Merge-patches an object. False if it does not exist.
pub(super) async fn merge_patch(
    client: &Client,
    kind: &ApiResource,
    object: &DynamicObject,
    change: &Value,
) -> Result<bool, InstallError> {
    let patched = patch(client, kind, object, &Patch::Merge(change)).await;
    patched.map_err(|error| patch_error(kind, object, error))
}

/// Deletes an object. False if it does not exist.
pub(super) async fn delete(
    client: &Client,
    kind: &ApiResource,
    namespace: Option<&str>,
    name: &str,
) -> Result<bool, InstallError> {
    let params = DeleteParams::background();
    match api(client, kind, namespace).delete(name, &params).await {
        Ok(_) => Ok(true),
        Err(error) if is_not_found(&error) => Ok(false),
        Err(error) => Err(InstallError::of("delete", describe(kind, name), error)),
    }
}

/// Waits until a cluster-scoped object is deleted; calls `meanwhile` before each poll. False after
/// [`DELETION_TIMEOUT`].
pub(super) async fn wait_for_deletion(
    client: &Client,
    clock: &Clock,
    kind: &ApiResource,
    name: &str,
    mut meanwhile: impl AsyncFnMut() -> Result<(), InstallError>,
) -> Result<bool, InstallError> {
    for _ in 0..DELETION_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
        meanwhile().await?;
        if get(client, kind, None, name).await?.is_none() {
            return Ok(true);
        }
        clock.sleep(POLL_INTERVAL).await;
    }
    Ok(false)
}

/// Waits until a cluster-scoped object is deleted.
pub(super) async fn ensure_deleted(
    client: &Client,
    clock: &Clock,
    kind: &ApiResource,
    name: &str,
) -> Result<(), InstallError> {
    if wait_for_deletion(client, clock, kind, name, async || Ok(())).await? {
        return Ok(());
    }
    let kind = describe(kind, "");
    Err(InstallError::Rejected {
        verb: "remove",
        what: format!("{kind} {name:?}"),
        message: format!(
            "it is not deleted within {} s; `kubectl get {kind} {name} -o yaml` shows its finalizers",
            DELETION_TIMEOUT.as_secs()
        ),
    })
}

/// Removes a finalizer from all objects of a kind. Returns their number.
pub(super) async fn remove_finalizer(
    client: &Client,
    kind: &ApiResource,
    finalizer: &str,
) -> Result<usize, InstallError> {
    let holds = |o: &DynamicObject| {
        o.metadata
            .finalizers
            .iter()
            .flatten()
            .any(|f| f == finalizer)
    };
    let mut objects = list(client, kind, None, "").await?;
    objects.retain(holds);
    let count = objects.len();
    let all = futures::stream::iter(objects).map(|object| async move {
        let rest: Vec<_> = object.metadata.finalizers.iter().flatten().collect();
        let rest: Vec<_> = rest.into_iter().filter(|f| *f != finalizer).collect();
        merge_patch(
            client,
            kind,
            &object,
            &json!({"metadata": {"finalizers": rest}}),
        )
        .await
    });
    all.buffer_unordered(MAX_CONCURRENT_WRITES)
        .try_collect::<Vec<bool>>()
        .await?;
    Ok(count)
}
