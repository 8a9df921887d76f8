//! Allocations on small clusters.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::cache::SchedulerState;
use super::super::schedule_one::SchedulingDecision;

fn object<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

/// Nodes n0 and n1, each with devices of these models; the class `gpu`.
fn cluster(models: [&[&str]; 2]) -> SchedulerState {
    let mut state = SchedulerState::default();
    let class: Arc<DeviceClass> = object(json!({
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    }));
    state.update_class("gpu", Some(class));
    for (index, models) in models.into_iter().enumerate() {
        let node = format!("n{index}");
        let amounts = json!({"cpu": "8", "pods": "10"});
        let value = json!({"metadata": {"name": node}, "status": {"allocatable": amounts}});
        state.update_node(&node, Some(object(value)));
        let devices = models.iter().enumerate().map(|(i, model)| {
            json!({"name": format!("device-{i}"), "attributes": {"model": {"string": model}}})
        });
        let slice: Arc<ResourceSlice> = object(json!({
            "metadata": {"name": node},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": devices.collect::<Vec<_>>(),
            },
        }));
        state.update_slice(&node, Some(slice));
    }
    state
}

fn claim(name: &str, version: u64, devices: Value, status: Value) -> Arc<ResourceClaim> {
    object(json!({
        "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": version.to_string()},
        "spec": {"devices": devices},
        "status": status,
    }))
}

fn exactly(request: Value) -> Value {
    let mut exactly = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
    for (key, value) in request.as_object().unwrap() {
        exactly[key] = value.clone();
    }
    json!({"requests": [{"name": "r", "exactly": exactly}]})
}

fn pod(name: &str, claims: &[&str]) -> Arc<Pod> {
    let claims = claims
        .iter()
        .map(|claim| json!({"name": claim, "resourceClaimName": claim}));
    object(json!({
        "metadata": {"namespace": "ns", "name": name, "uid": name},
        "spec": {"containers": [], "resourceClaims": claims.collect::<Vec<_>>()},
    }))
}

/// The outcome of the next cycle: `node: request=device ...`, or the message.
fn next(state: &mut SchedulerState) -> String {
    match state.next() {
        Some(SchedulingDecision::Bind { node, claims, .. }) => {
            let allocations = claims.into_iter().filter_map(|claim| claim.allocation);
            let results = allocations.filter_map(|a| a.devices?.results).flatten();
            let results = results.map(|r| format!(" {}={}", r.request, r.device));
            format!("{node}:{}", results.collect::<String>())
        }
        Some(SchedulingDecision::Unschedulable { message, .. }) => message,
        other => format!("{other:?}"),
    }
}

/// The outcome for a pod with claims of these devices.
fn outcome(models: [&[&str]; 2], claims: &[Value]) -> String {
    let mut state = cluster(models);
    let names: Vec<String> = (0..claims.len()).map(|i| format!("c{i}")).collect();
    for (name, devices) in names.iter().zip(claims) {
        state.update_claim(claim(name, 1, devices.clone(), Value::Null));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    state.update_pod(pod("p", &names));
    next(&mut state)
}

const NO_DEVICES: &str = "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, \
     preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";

#[test]
fn devices_match_count_selectors_and_mode() {
    let h100 =
        json!([{"cel": {"expression": "device.attributes['gpu.example.com'].model == 'h100'"}}]);
    let a = &["a100"][..];
    let both = &["a100", "h100", "h100"][..];
    for (request, expected) in [
        (json!({"count": 3}), "n1: r=device-0 r=device-1 r=device-2"),
        (json!({"count": 4}), NO_DEVICES),
        (json!({"selectors": h100}), "n1: r=device-1"),
        (json!({"selectors": h100, "count": 3}), NO_DEVICES),
        (
            json!({"selectors": h100, "allocationMode": "All"}),
            "n1: r=device-1 r=device-2",
        ),
    ] {
        assert_eq!(
            outcome([a, both], &[exactly(request.clone())]),
            expected,
            "{request}"
        );
    }
}

#[test]
fn alternatives_are_tried_in_order() {
    let alternative = |name: &str, count: i64| json!({"name": name, "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count});
    let request = json!({"requests": [
        {"name": "r", "firstAvailable": [alternative("large", 8), alternative("small", 2)]},
    ]});
    let devices = [&["a100"][..], &["a100", "a100"][..]];
    assert_eq!(
        outcome(devices, &[request]),
        "n1: r/small=device-0 r/small=device-1"
    );
}

#[test]
fn devices_of_a_claim_can_have_to_share_an_attribute() {
    let mut devices = exactly(json!({"count": 2}));
    devices["constraints"] = json!([{"matchAttribute": "gpu.example.com/model"}]);
    let mixed = [&["a100", "h100"][..], &["a100", "h100", "h100"][..]];
    assert_eq!(outcome(mixed, &[devices]), "n1: r=device-1 r=device-2");
}

#[test]
fn claims_of_a_pod_get_different_devices_and_admin_access_gets_any() {
    let one = exactly(json!({}));
    let admin = exactly(json!({"adminAccess": true}));
    let devices = [&["a100"][..], &[][..]];
    assert_eq!(outcome(devices, &[one.clone(), one.clone()]), NO_DEVICES);
    assert_eq!(outcome(devices, &[one, admin]), "n0: r=device-0 r=device-0");
}

#[test]
fn errors_of_claims_are_reported() {
    let devices = [&["a100"][..], &[][..]];
    let unknown = exactly(json!({"deviceClassName": "tpu"}));
    assert_eq!(
        outcome(devices, &[unknown]),
        "0/2 nodes are available: request r: device class tpu does not exist. no new claims to \
         deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
    let broken = exactly(json!({"selectors": [{"cel": {"expression": "device.nothing"}}]}));
    let message = outcome(devices, &[broken]);
    let expected = "running \"DynamicResources\" filter plugin: claim ns/c0: selector #0";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_device_is_free_again_after_its_claim_was_deallocated() {
    let mut state = cluster([&["a100"], &[]]);
    let spec = exactly(json!({}));
    for name in ["c0", "c1"] {
        state.update_claim(claim(name, 1, spec.clone(), Value::Null));
    }
    state.update_pod(pod("p0", &["c0"]));
    state.update_pod(pod("p1", &["c1"]));
    let Some(SchedulingDecision::Bind { claims, .. }) = state.next() else {
        panic!("the first pod is not bound");
    };
    assert_eq!(
        next(&mut state),
        NO_DEVICES,
        "while the allocation is written"
    );
    let allocation = json!(claims[0].allocation);
    state.update_claim(claim(
        "c0",
        2,
        spec.clone(),
        json!({"allocation": allocation}),
    ));
    state.remove_pending_allocation(&claims[0].claim);
    assert!(state.next().is_none(), "the device is in use");
    // An older version, delivered late by the watch.
    state.update_claim(claim("c0", 1, spec.clone(), Value::Null));
    assert!(state.next().is_none(), "the device is in use");
    state.update_claim(claim("c0", 3, spec, json!({})));
    assert_eq!(next(&mut state), "n0: r=device-0");
}

#[test]
fn an_allocated_claim_binds_its_pods_to_its_node() {
    let mut state = cluster([&["a100"], &["a100"]]);
    let selector = json!({"nodeSelectorTerms": [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["n1"]},
    ]}]});
    let user = json!([{"resource": "pods", "name": "other", "uid": "other"}]);
    let status = json!({"allocation": {"nodeSelector": selector}, "reservedFor": user});
    state.update_claim(claim("c", 1, exactly(json!({})), status));
    state.update_pod(pod("p", &["c"]));
    assert_eq!(next(&mut state), "n1:");
}

#[test]
fn a_pod_is_queued_once_its_claim_exists() {
    let mut state = cluster([&["a100"], &[]]);
    state.update_pod(pod("p", &["c"]));
    assert!(state.next().is_none());
    state.update_claim(claim("c", 1, exactly(json!({})), Value::Null));
    assert_eq!(next(&mut state), "n0: r=device-0");
}

#[test]
fn an_incomplete_pool_is_not_used() {
    let mut state = cluster([&["a100"], &[]]);
    let slice: Arc<ResourceSlice> = object(json!({
        "metadata": {"name": "n0"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n0",
            "pool": {"name": "n0", "generation": 2, "resourceSliceCount": 2},
            "devices": [{"name": "device-0"}],
        },
    }));
    state.update_slice("n0", Some(slice));
    state.update_claim(claim("c", 1, exactly(json!({})), Value::Null));
    state.update_pod(pod("p", &["c"]));
    assert_eq!(next(&mut state), NO_DEVICES);
}

/// A slice of n0 in the pool `shared`.
fn slice_of_n0(name: &str, slices: u32, spec: Value) -> Arc<ResourceSlice> {
    let mut slice = json!({"metadata": {"name": name}, "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n0",
        "pool": {"name": "shared", "generation": 1, "resourceSliceCount": slices},
    }});
    for (key, value) in spec.as_object().unwrap() {
        slice["spec"][key] = value.clone();
    }
    object(slice)
}

/// The outcomes for one pod after the other, each with a claim; claims of bound pods keep their devices.
fn outcomes(state: &mut SchedulerState, claims: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, devices) in claims.iter().enumerate() {
        let name = format!("c{index}");
        state.update_claim(claim(&name, 1, devices.clone(), Value::Null));
        state.update_pod(pod(&format!("p{index}"), &[&name]));
        found.push(next(state));
    }
    found
}

#[test]
fn partitions_share_the_counters_of_their_device() {
    let mut state = cluster([&[], &[]]);
    let counters =
        |memory: &str| json!([{"counterSet": "gpu-0", "counters": {"memory": {"value": memory}}}]);
    let sets = json!([{"name": "gpu-0", "counters": {"memory": {"value": "40Gi"}}}]);
    state.update_slice(
        "counters",
        Some(slice_of_n0("counters", 2, json!({"sharedCounters": sets}))),
    );
    let devices = json!([
        {"name": "whole", "consumesCounters": counters("40Gi"), "attributes": {"size": {"int": 2}}},
        {"name": "half-0", "consumesCounters": counters("20Gi"), "attributes": {"size": {"int": 1}}},
        {"name": "half-1", "consumesCounters": counters("20Gi"), "attributes": {"size": {"int": 1}}},
        {"name": "half-2", "consumesCounters": counters("20Gi"), "attributes": {"size": {"int": 1}}},
    ]);
    let devices = slice_of_n0("devices", 2, json!({"devices": devices}));
    state.update_slice("devices", Some(devices));
    let half = json!([{"cel": {"expression": "device.attributes['gpu.example.com'].size == 1"}}]);
    let half = |count: u32| exactly(json!({"selectors": half, "count": count}));
    assert_eq!(
        outcomes(&mut state, &[half(3), half(1), exactly(json!({})), half(1)]),
        [NO_DEVICES, "n0: r=half-0", "n0: r=half-1", NO_DEVICES]
    );
}

#[test]
fn claims_share_the_capacity_of_a_device() {
    let mut state = cluster([&[], &[]]);
    let policy = json!({"default": "10Gi", "validRange": {"min": "5Gi", "step": "5Gi"}});
    let devices = json!([{
        "name": "shared", "allowMultipleAllocations": true,
        "capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}},
    }]);
    state.update_slice(
        "devices",
        Some(slice_of_n0("devices", 1, json!({"devices": devices}))),
    );
    let memory = |amount: &str| exactly(json!({"capacity": {"requests": {"memory": amount}}}));
    let unknown = exactly(json!({"capacity": {"requests": {"cores": "1"}}}));
    let shared = "n0: r=shared";
    assert_eq!(
        outcomes(
            &mut state,
            &[
                memory("41Gi"),
                unknown,
                memory("21Gi"),
                exactly(json!({})),
                memory("6Gi"),
                memory("1Gi")
            ]
        ),
        [NO_DEVICES, NO_DEVICES, shared, shared, NO_DEVICES, shared]
    );
}

#[test]
fn a_share_is_written_with_its_capacity() {
    let mut state = cluster([&[], &[]]);
    let devices = json!([{
        "name": "shared", "allowMultipleAllocations": true, "bindsToNode": true,
        "bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"],
        "capacity": {"memory": {"value": "40Gi"}},
    }]);
    let spec = json!({"devices": devices, "nodeName": null, "allNodes": true});
    state.update_slice("devices", Some(slice_of_n0("devices", 1, spec)));
    let request = exactly(json!({"capacity": {"requests": {"memory": "3Gi"}}}));
    state.update_claim(claim("c", 1, request, Value::Null));
    state.update_pod(pod("p", &["c"]));
    let Some(SchedulingDecision::Bind { node, claims, .. }) = state.next() else {
        panic!("not bound");
    };
    let allocation = json!(claims[0].allocation);
    let result = &allocation["devices"]["results"][0];
    assert_eq!(result["consumedCapacity"], json!({"memory": "3Gi"}));
    assert_eq!(result["shareID"], "");
    assert_eq!(result["bindingConditions"], json!(["Attached"]));
    assert_eq!(result["bindingFailureConditions"], json!(["Failed"]));
    let fields = &allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"];
    assert_eq!(fields[0]["values"], json!([node]));
}

#[test]
fn distinct_attributes_differ_in_all_devices() {
    let request = |count: u32| {
        let mut claim = exactly(json!({"count": count}));
        claim["constraints"] = json!([{"distinctAttribute": "gpu.example.com/model"}]);
        claim
    };
    let models = &["a100", "a100", "h100"][..];
    assert_eq!(
        outcome([models, &[]], &[request(2)]),
        "n0: r=device-0 r=device-2"
    );
    assert_eq!(outcome([models, &[]], &[request(3)]), NO_DEVICES);
}
