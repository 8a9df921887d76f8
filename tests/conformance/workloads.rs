//! Tables of functions of one Workload, and of amounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::LimitRange;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_api::v1beta2::{AdmissionCheckState, ClusterQueue, PodSet, Workload};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::cache::usage_of;
use kueue_lab_engine::cluster_objects::ClusterObjects;
use kueue_lab_engine::config::RequeuingTimestamp;
use kueue_lab_engine::resources::{Amount, FlavorResourceTable, ResourceFormatter, ResourceName};
use kueue_lab_engine::status;
use kueue_lab_engine::workload::ordering::queue_order_timestamp;
use kueue_lab_engine::workload::validate_admissibility::{
    validate_limit_range, validate_resources,
};
use kueue_lab_engine::workload::{AssignmentClusterQueueState, Info, adjust_resources, predicates};
use serde_json::{Map, Value, json};

use super::CaseCheck;
use super::case::{Case, read, read_or_default};
use super::compare::{Differences, as_set, compare_part, workloads};
use super::engine_fixture::config;
use super::flavors::info;
use super::tas_cycles::transformation;

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("workload/TestAdjustResources", adjust_resources_case),
    (
        "workload/TestAdmissionChecksForWorkload",
        admission_checks_for_workload,
    ),
    (
        "workload/TestFilterChecksForAdmission",
        admission_checks_for_workload,
    ),
    (
        "workload/TestAssignmentClusterQueueState",
        assignment_cluster_queue_state,
    ),
    (
        "workload/TestGetQueueOrderTimestamp",
        queue_order_timestamp_case,
    ),
    (
        "workload/TestIsExplicitlyRequestingTAS",
        is_explicitly_requesting_tas,
    ),
    ("workload/TestNeedsSecondPass", needs_second_pass),
    ("workload/TestNewInfo", new_info),
    (
        "workload/TestPropagateResourceRequests",
        propagate_resource_requests,
    ),
    ("workload/TestResourceUsage", resource_usage),
    (
        "workload/TestShouldSkipClusterNomination",
        should_skip_cluster_nomination,
    ),
    ("workload/TestUsedNodes", used_nodes),
    (
        "workload/TestValidateLimitRange",
        check_validate_limit_range,
    ),
    ("workload/TestValidateResources", check_validate_resources),
    (
        "resources/TestAmountAsApproximateFloat64",
        amount_as_approximate_f64,
    ),
    (
        "resources/TestAmountFromQuantity",
        check_amount_from_quantity,
    ),
];

fn finish_bool(got: bool, case: &Case) -> Result<(), String> {
    compare_part("value", json!(got), &json!(case.want["value"] == true))
}

fn cluster_objects(case: &Case) -> ClusterObjects {
    let mut objects = ClusterObjects::default();
    for range in case.objects::<LimitRange>("limitRanges") {
        objects.upsert_limit_range(LimitRange::clone(&range));
    }
    for class in case.objects::<RuntimeClass>("runtimeClasses") {
        objects.upsert_runtime_class(&class);
    }
    objects
}

fn adjust_resources_case(case: &Case) -> Result<(), String> {
    let got = adjust_resources(&Arc::new(case.object("incoming")), &cluster_objects(case));
    let want: Workload = read(&case.want["wl"]);
    compare_part("workload", workloads([&*got]), &workloads([&want]))
}

fn admission_checks_for_workload(case: &Case) -> Result<(), String> {
    let wl: Workload = case.object("incoming");
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    let got = json!(status::admission_checks_for_workload(&wl, &queue.spec));
    compare_part("checks", got, &as_set(&case.want["admissionChecks"]))
}

fn state(value: &Value) -> AssignmentClusterQueueState {
    let tried: Vec<BTreeMap<String, i32>> = read_or_default(&value["lastTriedFlavorIdx"]);
    let by_name =
        |m: &BTreeMap<String, i32>| m.iter().map(|(k, &i)| (ResourceName::new(k), i)).collect();
    AssignmentClusterQueueState {
        last_tried_flavor_idx: tried.iter().map(by_name).collect(),
        ..Default::default()
    }
}

fn assignment_cluster_queue_state(case: &Case) -> Result<(), String> {
    let got = state(&case.config["state"]).pending_flavors();
    compare_part(
        "pending",
        json!(got),
        &json!(case.want["pendingFlavors"] == true),
    )
}

fn queue_order_timestamp_case(case: &Case) -> Result<(), String> {
    let wl: Workload = case.object("incoming");
    let want: BTreeMap<String, String> = read(&case.want["value"]);
    let mut found = Differences::default();
    for (ordering, want) in want {
        let config = EngineConfig {
            requeuing_timestamp: if ordering.contains("Creation") {
                RequeuingTimestamp::Creation
            } else {
                RequeuingTimestamp::Eviction
            },
            ..config(case)
        };
        let got = queue_order_timestamp(&wl, &config);
        let want: jiff::Timestamp = want.parse().unwrap();
        found.part(&ordering, &got.to_string(), &want.to_string());
    }
    found.finish()
}

fn is_explicitly_requesting_tas(case: &Case) -> Result<(), String> {
    let sets: Vec<PodSet> = read_or_default(&case.config["podSets"]);
    finish_bool(
        sets.iter().any(predicates::is_explicitly_requesting_tas),
        case,
    )
}

fn needs_second_pass(case: &Case) -> Result<(), String> {
    finish_bool(
        predicates::needs_second_pass(&case.object("incoming")),
        case,
    )
}

fn new_info(case: &Case) -> Result<(), String> {
    let options = &case.config["infoOptions"];
    let rules: BTreeMap<String, Value> = read_or_default(&options["resourceTransformations"]);
    let config = EngineConfig {
        excluded_resource_prefixes: read_or_default(&options["excludedResourcePrefixes"]),
        resource_transformations: rules.values().map(transformation).collect(),
        ..config(case)
    };
    let info = Info::new(Arc::new(case.object("incoming")), &config);
    let shown = |ps: &kueue_lab_engine::workload::PodSetResources| {
        let requests = ps.requests.iter();
        let requests = requests.map(|(r, n)| (r.as_str().to_owned(), json!(n)));
        let flavors = ps
            .flavors
            .iter()
            .map(|(r, f)| (r.as_str().to_owned(), json!(f)));
        json!({
            "name": ps.name,
            "count": ps.count,
            "requests": requests.collect::<Map<_, _>>(),
            "flavors": flavors.collect::<Map<_, _>>(),
            "topologyRequest": ps.topology_request.as_ref().map(|request| json!({
                "levels": request.levels,
                "domainRequests": request.domain_requests.iter().map(|d| json!({
                    "values": d.values,
                    "singlePodRequests": d.single_pod_requests,
                    "count": d.count,
                })).collect::<Vec<_>>(),
            })),
            "delayedTopologyRequest": ps.delayed_topology_request,
        })
    };
    let got = json!({
        "clusterQueue": info.cluster_queue,
        "totalRequests": info.total_requests.iter().map(shown).collect::<Vec<_>>(),
    });
    let mut want = case.want["info"].clone();
    for ps in want["totalRequests"].as_array_mut().into_iter().flatten() {
        if ps["count"].is_null() {
            ps["count"] = json!(0);
        }
    }
    compare_part("info", got, &want)
}

fn propagate_resource_requests(case: &Case) -> Result<(), String> {
    let mut wl: Workload = case.object("incoming");
    let info = info(&case.config["info"], &config(case));
    let requests = status::resource_requests(&info, &ResourceFormatter::default());
    finish_bool(
        status::propagate_resource_requests(&mut wl, &requests),
        case,
    )
}

fn resource_usage(case: &Case) -> Result<(), String> {
    let info = info(&case.config["info"], &config(case));
    let mut frs = FlavorResourceTable::default();
    let (assigned, _) = usage_of(&info, &mut frs);
    let assigned = frs.named(&assigned).into_iter();
    let unassigned = info.unassigned_requests();
    let unassigned = unassigned.iter();
    let got = json!({
        "assigned": assigned.map(|(k, v)| (k.to_string(), json!(v))).collect::<Map<_, _>>(),
        "unassigned":
            unassigned.map(|(k, v)| (k.as_str().to_owned(), json!(v))).collect::<Map<_, _>>(),
    });
    compare_part("usage", got, &case.want["value"])
}

fn should_skip_cluster_nomination(case: &Case) -> Result<(), String> {
    let check: Option<AdmissionCheckState> = read_or_default(&case.config["acs"]);
    let elastic = case.config["isElastic"] == true;
    let wl: Workload = case.object("incoming");
    finish_bool(
        predicates::should_skip_cluster_nomination(&wl, check.as_ref(), elastic),
        case,
    )
}

fn used_nodes(case: &Case) -> Result<(), String> {
    let got = predicates::tas_assigned_node_names(&case.object("incoming"));
    compare_part("nodes", json!(got), &as_set(&case.want["value"]))
}

fn check_validate_limit_range(case: &Case) -> Result<(), String> {
    let got = validate_limit_range(&case.object("incoming"), &cluster_objects(case));
    compare_part("errors", json!(got), &case.want["error"])
}

fn check_validate_resources(case: &Case) -> Result<(), String> {
    let got = validate_resources(&case.object("incoming"));
    compare_part("errors", json!(got), &case.want["error"])
}

fn amount_as_approximate_f64(case: &Case) -> Result<(), String> {
    let amount = &case.config["amount"];
    let amount = amount.as_i64().map_or(Amount::UNLIMITED, Amount::new);
    let name = ResourceName::new(case.config["resource"].as_str().unwrap());
    let got = amount.as_f64(name.is_cpu());
    let want = match case.want["value"].as_str() {
        Some("+Inf") => f64::INFINITY,
        Some(other) => other.parse().unwrap(),
        None => case.want["value"].as_f64().unwrap_or(0.0),
    };
    compare_part("value", json!(got.to_string()), &json!(want.to_string()))
}

fn check_amount_from_quantity(case: &Case) -> Result<(), String> {
    let name = ResourceName::new(case.config["resource"].as_str().unwrap());
    let quantity: Quantity = read(&case.config["quantity"]);
    let amount = kueue_lab_quota_tree::amount(name, &quantity);
    let unlimited = amount.is_unlimited();
    let value = if unlimited { 0 } else { amount.value() };
    let got = json!({"unlimited": unlimited, "value": value});
    compare_part("amount", got, &case.want)
}
