//! The namespace controller: deletes the content of a terminating namespace, reports what remains
//! in its conditions, and finalizes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, NamespaceCondition, NamespaceStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::PartialObjectMeta;

use super::discovery::{DiscoveredKind, DiscoveredKinds};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::api_errors::{error_message, is_conflict, is_not_found};
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};

/// The finalizer in `spec.finalizers` that this controller removes.
const FINALIZER: &str = "kubernetes";
/// How long to wait for the deletion of remaining objects.
const PAUSE: Duration = Duration::from_secs(1);
const WORKERS: usize = 4;

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context, kinds: &DiscoveredKinds, namespaces: &Informer<Namespace>) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let waiting = queue.clone();
    namespaces.add_event_handler(move |change| {
        if change.object().metadata.deletion_timestamp.is_some() {
            waiting.add(ObjectKey::of(change.object().as_ref()));
        }
    });
    let deleter = Arc::new(NamespacedResourcesDeleter {
        client: context.client.clone(),
        clock: context.clock.clone(),
        kinds: kinds.clone(),
    });
    queue.run(context, "namespace", WORKERS, move |key| {
        let deleter = deleter.clone();
        async move { deleter.reconcile(&key.name).await }
    });
}

struct NamespacedResourcesDeleter {
    client: kube::Client,
    clock: Clock,
    kinds: DiscoveredKinds,
}

/// The remaining content of a namespace.
#[derive(Default)]
struct RemainingContent {
    /// Objects by `resource.group`.
    objects: BTreeMap<String, usize>,
    /// Objects by finalizer.
    finalizers: BTreeMap<String, usize>,
    /// Failed deletions.
    failures: Vec<String>,
}

impl NamespacedResourcesDeleter {
    async fn reconcile(&self, name: &str) -> Result<ReconcileResult, kube::Error> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let Some(namespace) = api.get_opt(name).await? else {
            return Ok(ReconcileResult::Done);
        };
        let finalizers = namespace.spec.clone().unwrap_or_default().finalizers;
        let finalizers = finalizers.unwrap_or_default();
        if namespace.metadata.deletion_timestamp.is_none() || finalizers.is_empty() {
            return Ok(ReconcileResult::Done);
        }
        let kinds = self.kinds.discovered().await;
        let mut remains = RemainingContent::default();
        // Pods first: the objects they use should exist until they have ended.
        let (pods, others): (Vec<_>, Vec<_>) = kinds
            .values()
            .filter(|kind| kind.namespaced && !is_duplicate(kind))
            .partition(|kind| kind.resource.plural == "pods" && kind.resource.group.is_empty());
        for kind in pods {
            self.delete_all_content_of_kind(name, kind, &mut remains)
                .await?;
        }
        if remains.objects.is_empty() {
            for kind in others {
                self.delete_all_content_of_kind(name, kind, &mut remains)
                    .await?;
            }
        }
        let namespace = match self.update_conditions(&api, namespace, &remains).await {
            Ok(namespace) => namespace,
            Err(error) if is_not_found(&error) => return Ok(ReconcileResult::Done),
            Err(error) if is_conflict(&error) => return Ok(ReconcileResult::Requeue),
            Err(error) => return Err(error),
        };
        if !remains.objects.is_empty() || !remains.failures.is_empty() {
            return Ok(ReconcileResult::RequeueAfter(PAUSE));
        }
        match finalize(&api, namespace).await {
            Err(error) if is_not_found(&error) => Ok(ReconcileResult::Done),
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            Err(error) => Err(error),
            Ok(()) => Ok(ReconcileResult::Done),
        }
    }

    /// Deletes all objects of a kind and counts the remaining ones.
    async fn delete_all_content_of_kind(
        &self,
        name: &str,
        kind: &DiscoveredKind,
        left: &mut RemainingContent,
    ) -> Result<(), kube::Error> {
        let resource = &kind.resource;
        let client = self.client.clone();
        let api: Api<DynamicObject> = Api::namespaced_with(client, name, resource);
        let all = ListParams::default();
        let list = match api.list_metadata(&all).await {
            Ok(list) => list.items,
            // The kind was removed in the meantime.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => return Ok(()),
            Err(error) => return Err(error),
        };
        if list.is_empty() {
            return Ok(());
        }
        if let Err(error) = delete_all(&api, kind, &list).await {
            left.failures.push(error_message(&error));
        }
        let remaining = api.list_metadata(&all).await?.items;
        if remaining.is_empty() {
            return Ok(());
        }
        let resource_name = format!("{}.{}", resource.plural, resource.group);
        left.objects.insert(resource_name, remaining.len());
        for finalizer in remaining.iter().flat_map(|o| o.finalizers()) {
            *left.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
        Ok(())
    }

    /// Reports the remaining content in the conditions.
    async fn update_conditions(
        &self,
        api: &Api<Namespace>,
        mut namespace: Namespace,
        remains: &RemainingContent,
    ) -> Result<Namespace, kube::Error> {
        let status = namespace.status.get_or_insert_default();
        let before = status.clone();
        status.phase = Some("Terminating".to_string());
        for (type_, condition) in conditions(remains) {
            set(status, type_, condition, &self.clock);
        }
        if *status == before {
            return Ok(namespace);
        }
        let name = namespace.name_any();
        api.replace_status(&name, &PostParams::default(), &namespace)
            .await
    }
}

/// Events are served by two groups; one is enough to delete them.
fn is_duplicate(kind: &DiscoveredKind) -> bool {
    kind.resource.group == "events.k8s.io" && kind.resource.plural == "events"
}

async fn delete_all(
    api: &Api<DynamicObject>,
    kind: &DiscoveredKind,
    list: &[PartialObjectMeta<DynamicObject>],
) -> Result<(), kube::Error> {
    let params = DeleteParams::background();
    if kind.delete_collection {
        api.delete_collection(&params, &ListParams::default())
            .await?;
        return Ok(());
    }
    for object in list {
        match api.delete(&object.name_any(), &params).await {
            Err(error) if !is_not_found(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes this controller's finalizer from the namespace.
async fn finalize(api: &Api<Namespace>, mut namespace: Namespace) -> Result<(), kube::Error> {
    let spec = namespace.spec.get_or_insert_default();
    spec.finalizers
        .get_or_insert_default()
        .retain(|f| f != FINALIZER);
    let name = namespace.name_any();
    let params = PostParams::default();
    api.replace_subresource("finalize", &name, &params, &namespace)
        .await
        .map(|_| ())
}

/// Status, reason and message of a condition.
type ConditionTuple = (bool, &'static str, String);

fn conditions(remains: &RemainingContent) -> [(&'static str, ConditionTuple); 5] {
    let fine = |reason, message: &str| (false, reason, message.to_string());
    let removed = || fine("ContentRemoved", "All content successfully removed");
    let failure = if remains.failures.is_empty() {
        let message = "All content successfully deleted, may be waiting on finalization";
        fine("ContentDeleted", message)
    } else {
        let mut failures = remains.failures.clone();
        failures.sort();
        let message = format!(
            "Failed to delete all resource types, {} remaining: {}",
            failures.len(),
            failures.join(", ")
        );
        (true, "ContentDeletionFailed", message)
    };
    let objects = if remains.objects.is_empty() {
        removed()
    } else {
        let each = remains.objects.iter();
        let each = each.map(|(what, count)| format!("{what} has {count} resource instances"));
        let message = format!("Some resources are remaining: {}", join(each));
        (true, "SomeResourcesRemain", message)
    };
    let finalizers = if remains.finalizers.is_empty() {
        removed()
    } else {
        let each = remains.finalizers.iter();
        let each = each.map(|(what, count)| format!("{what} in {count} resource instances"));
        let message = format!(
            "Some content in the namespace has finalizers remaining: {}",
            join(each)
        );
        (true, "SomeFinalizersRemain", message)
    };
    [
        (
            "NamespaceDeletionDiscoveryFailure",
            fine(
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            fine(
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
        ),
        ("NamespaceDeletionContentFailure", failure),
        ("NamespaceContentRemaining", objects),
        ("NamespaceFinalizersRemaining", finalizers),
    ]
}

fn join(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join(", ")
}

fn set(
    status: &mut NamespaceStatus,
    type_: &str,
    (is, reason, message): ConditionTuple,
    clock: &Clock,
) {
    let wanted = NamespaceCondition {
        type_: type_.to_string(),
        status: if is { "True" } else { "False" }.to_string(),
        reason: Some(reason.to_string()),
        message: Some(message),
        last_transition_time: None,
    };
    let now: Time = clock.time();
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|c| c.type_ == type_) {
        Some(known) => {
            let since = if known.status == wanted.status {
                known.last_transition_time.take()
            } else {
                Some(now)
            };
            *known = NamespaceCondition {
                last_transition_time: since,
                ..wanted
            };
        }
        None => conditions.push(NamespaceCondition {
            last_transition_time: Some(now),
            ..wanted
        }),
    }
}
