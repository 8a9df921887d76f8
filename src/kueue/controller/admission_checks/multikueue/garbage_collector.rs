//! Garbage collection in worker clusters: deletes Workloads that have no local one any more, with
//! their jobs.

use kube::api::{DeleteParams, ListParams};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, ObjectKey, controller_of};

use super::context::MultiKueueContext;
use super::remote_client::RemoteClient;
use crate::jobs::error::JobError;
use crate::jobs::multikueue::delete_remote_object_if_owned;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::workload::predicates;

/// Starts the garbage collector, unless it is disabled.
pub(super) fn start(mk: &MultiKueueContext) {
    let Some(interval) = mk.gc_interval() else {
        return;
    };
    let collected = mk.clone();
    mk.shared.ctx.tasks.spawn("multikueue-gc", async move {
        loop {
            collected.shared.ctx.clock.sleep(interval).await;
            for client in collected.remote_clients() {
                if let Err(error) = collect(&collected, &client).await {
                    let cluster = &client.cluster_name;
                    tracing::debug!(cluster, %error, "garbage collection failed");
                }
            }
        }
    });
}

async fn collect(mk: &MultiKueueContext, client: &RemoteClient) -> Result<(), JobError> {
    let Some(remote) = client.connected_client() else {
        return Ok(());
    };
    let selector = format!("{}={}", c::MULTI_KUEUE_ORIGIN_LABEL, mk.origin());
    let workloads: Api<Workload> = Api::all(remote.clone());
    let owned = ListParams::default().labels(&selector);
    for wl in workloads.list(&owned).await?.items {
        let local = mk.shared.informers.workloads.get(&ObjectKey::of(&wl));
        if local.is_some_and(|local| local.metadata.deletion_timestamp.is_none()) {
            continue;
        }
        if let Err(error) = delete_orphan(mk, &remote, &wl).await {
            let (cluster, workload) = (&client.cluster_name, predicates::key(&wl));
            tracing::debug!(cluster, %workload, %error, "cannot delete an orphan");
        }
    }
    Ok(())
}

async fn delete_orphan(
    mk: &MultiKueueContext,
    remote: &kube::Client,
    wl: &Workload,
) -> Result<(), JobError> {
    let namespace = predicates::namespace(wl);
    let owner = controller_of(&wl.metadata);
    let adapter = owner.and_then(|owner| {
        let mut adapters = mk.adapters.iter();
        adapters.find(|adapter| adapter.gvk.matches_owner(owner))
    });
    if let Some((owner, adapter)) = owner.zip(adapter) {
        let key = ObjectKey::new(namespace, owner.name.clone());
        let origin = mk.origin();
        let deleted = delete_remote_object_if_owned(&mk.shared, adapter, remote, &key, origin);
        if let Err(error) = deleted.await {
            tracing::debug!(owner = %key, %error, "cannot delete the owner of an orphan");
        }
    }
    let api: Api<Workload> = Api::namespaced(remote.clone(), namespace);
    let deleted = api
        .delete(predicates::name(wl), &DeleteParams::default())
        .await;
    ignore_not_found(deleted)?;
    Ok(())
}
