//! Nothing representable is lost, and nothing makes it panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::fixture::*;
use crate::v1beta2::{TopologyAssignment, TopologyDomain};

/// Any of the values, or none.
fn optional_member(
    name: &'static str,
    values: Vec<Value>,
) -> BoxedStrategy<Option<(String, Value)>> {
    prop::option::of(prop::sample::select(values).prop_map(move |v| (name.to_owned(), v))).boxed()
}

fn members(parts: Vec<BoxedStrategy<Option<(String, Value)>>>) -> impl Strategy<Value = Value> {
    parts.prop_map(|parts| Value::Object(parts.into_iter().flatten().collect()))
}

/// Objects of the hub that v1beta1 can say.
fn v1beta1_representable() -> impl Strategy<Value = Value> {
    let queue = members(vec![
        optional_member("cohortName", vec![json!("a"), json!("b")]),
        optional_member("queueingStrategy", vec![json!("StrictFIFO")]),
        optional_member("stopPolicy", vec![json!("Hold")]),
        optional_member(
            "flavorFungibility",
            vec![json!({}), json!({"whenCanBorrow": "TryNextFlavor"})],
        ),
        optional_member(
            "admissionChecksStrategy",
            vec![json!({"admissionChecks": [{"name": "a", "onFlavors": ["f"]}]})],
        ),
        optional_member(
            "resourceGroups",
            vec![json!([]), json!([{"coveredResources": ["cpu"]}])],
        ),
    ]);
    let usage = members(vec![
        optional_member(
            "flavorsUsage",
            vec![json!([]), json!([{"name": "f", "resources": []}])],
        ),
        optional_member(
            "flavorsReservation",
            vec![json!([{"name": "f", "resources": []}])],
        ),
        optional_member("pendingWorkloads", vec![json!(0), json!(7)]),
    ]);
    let source = prop::sample::select(vec![
        json!({"kubeConfig": {"location": "l", "locationType": "Path"}}),
        json!({"clusterProfileRef": {"name": "p"}}),
        json!({"kubeConfig": {"location": "l"}, "clusterProfileRef": {"name": "p"}}),
    ]);
    let class = |group: &str, kind: &str| json!({"group": group, "kind": kind, "name": "n"});
    let spec = members(vec![
        optional_member(
            "priorityClassRef",
            vec![
                class("kueue.x-k8s.io", "WorkloadPriorityClass"),
                class("scheduling.k8s.io", "PriorityClass"),
            ],
        ),
        optional_member("priority", vec![json!(-5), json!(100)]),
        optional_member("queueName", vec![json!("lq")]),
        optional_member(
            "podSets",
            vec![json!([{"name": "main", "topologyRequest": {"required": "r"}}])],
        ),
    ]);
    let domains = prop::collection::vec(("[ab]-[0-9]{1,2}", 1i32..3), 0..12);
    let assignment = (domains, any::<bool>()).prop_map(|(domains, host)| {
        let level = if host {
            "kubernetes.io/hostname"
        } else {
            "rack"
        };
        let domains: Vec<_> = domains
            .into_iter()
            .map(|(value, count)| TopologyDomain {
                values: vec![value],
                count,
            })
            .collect();
        let encoded = TopologyAssignment::encode(vec![level.to_owned()], &domains, true);
        json!({"levels": encoded.levels, "slices": encoded.slices})
    });
    let workload =
        (spec, assignment, prop::option::of(0i32..9)).prop_map(|(spec, topology, past)| {
            let mut status = json!({"admission": {"clusterQueue": "q", "podSetAssignments": [
            {"name": "main", "topologyAssignment": topology}]}});
            if let Some(past) = past {
                status["accumulatedPastExecutionTimeSeconds"] = json!(past);
            }
            object(
                "v1beta2",
                "Workload",
                json!({"spec": spec, "status": status}),
            )
        });
    prop_oneof![
        queue.prop_map(|spec| object("v1beta2", "ClusterQueue", json!({"spec": spec}))),
        usage.prop_map(|status| object("v1beta2", "LocalQueue", json!({"status": status}))),
        source.prop_map(|s| {
            object(
                "v1beta2",
                "MultiKueueCluster",
                json!({"spec": {"clusterSource": s}}),
            )
        }),
        workload,
    ]
}

proptest! {
    #[test]
    fn v1beta2_round_trips_through_v1beta1(hub in v1beta1_representable()) {
        let mut there = hub.clone();
        prop_assert_eq!(convert(&mut there, "v1beta1"), Ok(Vec::new()));
        prop_assert_eq!(&there["apiVersion"], "kueue.x-k8s.io/v1beta1");
        prop_assert_eq!(convert(&mut there, "v1beta2"), Ok(Vec::new()));
        prop_assert_eq!(there, hub);
    }

    #[test]
    fn malformed_objects_do_not_panic(
        kind in prop::sample::select(crate::crds::CRDS.iter().map(|c| c.kind).collect::<Vec<_>>()),
        from in prop::sample::select(vec!["v1alpha1", "v1alpha2", "v1beta1", "v1beta2"]),
        field in prop::sample::select(vec!["spec", "status", "metadata", "resources"]),
        odd in prop::sample::select(vec![
            json!(null), json!(3), json!("text"), json!([]), json!([[], 1, {"quota": []}]),
            json!({"cohort": 5, "admissionChecks": {}, "podSets": [3, null], "resources": {"a": 1},
                   "admission": {"podSetAssignments": [1, {"topologyAssignment": 7}]},
                   "clusterSource": [], "kubeConfig": "k", "flavorFungibility": []}),
        ]),
    ) {
        for to in ["v1beta1", "v1beta2"] {
            let mut value = object(from, kind, json!({field: odd}));
            let _ = convert(&mut value, to);
        }
    }
}
