//! Loads the objects of a cluster into an engine.

use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LimitRange, Namespace, Node, Pod};
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::api::ListParams;
use kube::{Client, Resource};
use kueue_lab_codec::Codec;
use kueue_lab_runtime::Api;

use kueue_lab_admission::{Engine, EngineConfig};
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology, Workload,
};

/// Lists every kind that scheduling decisions depend on and loads the objects into a new engine.
pub(in crate::cli) async fn load_engine(
    client: &Client,
    config: EngineConfig,
    now: Timestamp,
) -> Result<Engine, kube::Error> {
    let mut engine = Engine::new(config);
    for namespace in list_all::<Namespace>(client).await? {
        engine.upsert_namespace(&namespace, now);
    }
    for range in list_all::<LimitRange>(client).await? {
        engine.upsert_limit_range(range, now);
    }
    for class in list_if_served::<RuntimeClass>(client).await? {
        engine.upsert_runtime_class(&class, now);
    }
    for topology in list_if_served::<Topology>(client).await? {
        engine.upsert_topology(Arc::new(topology), now);
    }
    for flavor in list_all::<ResourceFlavor>(client).await? {
        engine.upsert_flavor(Arc::new(flavor), now);
    }
    for check in list_all::<AdmissionCheck>(client).await? {
        engine.upsert_check(&check, now);
    }
    for cohort in list_if_served::<Cohort>(client).await? {
        // A Cohort in a cycle is not added; the status of its ClusterQueues reports it.
        let _ = engine.upsert_cohort(Arc::new(cohort), now);
    }
    for queue in list_all::<ClusterQueue>(client).await? {
        engine.upsert_cluster_queue(Arc::new(queue), now);
    }
    for queue in list_all::<LocalQueue>(client).await? {
        engine.upsert_local_queue(Arc::new(queue));
    }
    for node in list_all::<Node>(client).await? {
        engine.upsert_node(&node, now);
    }
    for pod in list_all::<Pod>(client).await? {
        engine.upsert_pod(&pod, now);
    }
    for workload in list_all::<Workload>(client).await? {
        engine.upsert_workload(Arc::new(workload), now);
    }
    engine.advance(now);
    Ok(engine)
}

async fn list_all<K>(client: &Client) -> Result<Vec<K>, kube::Error>
where
    K: Resource<DynamicType = ()> + Clone + Codec + Debug,
{
    let api = Api::<K>::all(client.clone());
    Ok(api.list(&ListParams::default()).await?.items)
}

/// Lists a kind, empty if the cluster does not serve it.
async fn list_if_served<K>(client: &Client) -> Result<Vec<K>, kube::Error>
where
    K: Resource<DynamicType = ()> + Clone + Codec + Debug,
{
    match list_all(client).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        listed => listed,
    }
}
