//! An API server in virtual time with Kueue's CustomResourceDefinitions. `tests/reference_runs` includes this
//! file too.

use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::crds::{CRDS, Conversion};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::Value;

/// An API server with the sources of time and randomness.
pub(crate) struct KueueServer {
    pub server: ApiServer,
    pub client: Client,
    pub clock: Clock,
    pub entropy: Entropy,
}

impl KueueServer {
    /// Starts a server in which every run has the same times, names and UIDs.
    pub(crate) async fn start() -> Self {
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let entropy = Entropy::seeded(1);
        let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
        let client = server.client();
        for crd in CRDS {
            create(&client, crd.object(&Conversion::None)).await;
        }
        Self {
            server,
            client,
            clock,
            entropy,
        }
    }
}

/// Creates an object of any kind.
pub(crate) async fn create(client: &Client, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let types = object.types.clone().unwrap();
    let gvk = GroupVersionKind::try_from(&types).unwrap();
    let resource = ApiResource::from_gvk(&gvk);
    let api: Api<DynamicObject> = match object.metadata.namespace.as_deref() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    api.create(&PostParams::default(), &object).await.unwrap();
}
