//! Events about the parts of a spec that the stand-ins of operators do not simulate.

use std::time::Duration;

use kube::api::{Api, ListParams};
use serde_json::json;

use super::cluster_fixture::*;
use super::operator_subject::*;
use super::operators::{JOB_SET, LEADER_WORKER_SET, PY_TORCH_JOB, RAY_CLUSTER};

#[test]
fn unplayable_spec_gets_a_warning() {
    with_operators(NODES, |lab| async move {
        let spec = json!({"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": []}}}});
        Subject::create(&lab, RAY_CLUSTER, spec).await;
        lab.clock.sleep(Duration::from_secs(1)).await;
        let events = lab.events("a").await;
        assert_eq!(
            events,
            [
                "Warning NotSimulated: headGroupSpec and every worker group need a container \
              (operator stand-in of kueue-lab)"
            ]
        );
    });
}

/// An ignored field is named once, not with every reconcile.
#[test]
fn ignored_fields_get_a_warning() {
    let worker = |script: &str| json!({"Worker": {"replicas": 1, "template": template(script)}});
    let cases = [
        (
            PY_TORCH_JOB,
            json!({
                "pytorchReplicaSpecs": worker("sleep 30"),
                "runPolicy": {"schedulingPolicy": {"minAvailable": 1}},
            }),
            "runPolicy.schedulingPolicy.minAvailable has no effect",
        ),
        (
            JOB_SET,
            json!({
                "replicatedJobs": [{
                    "name": "w",
                    "template": {"spec": {"template": template("sleep 30")}},
                }],
                "failurePolicy": {"maxRestarts": 1, "restartStrategy": "BlockingRecreate"},
            }),
            "failurePolicy.restartStrategy has no effect",
        ),
        (
            LEADER_WORKER_SET,
            json!({"leaderWorkerTemplate": {
                "size": 2,
                "workerTemplate": template("sleep infinity"),
                "subGroupPolicy": {"subGroupSize": 1},
            }}),
            "leaderWorkerTemplate.subGroupPolicy has no effect",
        ),
    ];
    for (kind, spec, expected) in cases {
        with_operators(NODES, |lab| async move {
            Subject::create(&lab, kind, spec).await;
            lab.clock.sleep(Duration::from_secs(60)).await;
            let events: Api<k8s_openapi::api::core::v1::Event> =
                Api::namespaced(lab.client.clone(), "test");
            let events = events.list(&ListParams::default()).await.unwrap().items;
            let mut about = events
                .iter()
                .filter(|e| e.reason.as_deref() == Some("NotSimulated"));
            let event = about
                .next()
                .unwrap_or_else(|| panic!("{}: no Event", kind.2));
            let message = event.message.as_deref().unwrap();
            assert_eq!(
                message,
                format!("{expected} (operator stand-in of kueue-lab)")
            );
            assert_eq!(event.involved_object.kind.as_deref(), Some(kind.2));
            assert_eq!(event.count.unwrap_or(1), 1);
            assert!(about.next().is_none(), "{events:#?}");
        });
    }
}
