//! The tables of what is worked out about one Workload, and of amounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::LimitRange;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_admission::EngineConfig;
use kueue_lab_admission::cache::usage_of;
use kueue_lab_admission::config::RequeuingTimestamp;
use kueue_lab_admission::resources::{
    Amount, Decimal, FlavorResources, Formatter, ResourceName, amount_of,
};
use kueue_lab_admission::status;
use kueue_lab_admission::workload::ordering::queue_order_timestamp;
use kueue_lab_admission::workload::validate::{limit_range_errors, resource_errors};
use kueue_lab_admission::workload::{AssignmentState, Info, adjust_resources, predicates};
use kueue_lab_admission::world::World;
use kueue_lab_api::v1beta2::{AdmissionCheckState, ClusterQueue, PodSet, Workload};
use serde_json::{Map, Value, json};

use super::Judge;
use super::case::{Case, read, read_or_default};
use super::compare::{Differences, as_set, workloads};
use super::flavors::info;
use super::lab::config;
use super::tas_cycles::transformation;

pub const SUITES: &[(&str, Judge)] = &[
    ("workload/TestAdjustResources", adjusted),
    ("workload/TestAdmissionChecksForWorkload", checks),
    ("workload/TestFilterChecksForAdmission", checks),
    ("workload/TestAssignmentClusterQueueState", progress),
    ("workload/TestGetQueueOrderTimestamp", timestamps),
    ("workload/TestIsExplicitlyRequestingTAS", explicit),
    ("workload/TestNeedsSecondPass", second_pass),
    ("workload/TestNewInfo", totals),
    ("workload/TestPropagateResourceRequests", propagated),
    ("workload/TestResourceUsage", usage),
    ("workload/TestShouldSkipClusterNomination", chosen),
    ("workload/TestUsedNodes", nodes),
    ("workload/TestValidateLimitRange", limits),
    ("workload/TestValidateResources", resources),
    ("resources/TestAmountAsApproximateFloat64", approximate),
    ("resources/TestAmountFromQuantity", amount),
];

fn finish(name: &str, got: Value, want: &Value) -> Result<(), String> {
    let mut found = Differences::default();
    found.part(name, &got, want);
    found.finish()
}

fn finish_bool(got: bool, case: &Case) -> Result<(), String> {
    finish("value", json!(got), &json!(case.want["value"] == true))
}

fn world(case: &Case) -> World {
    let mut world = World::default();
    for range in case.objects::<LimitRange>("limitRanges") {
        world.upsert_limit_range(LimitRange::clone(&range));
    }
    for class in case.objects::<RuntimeClass>("runtimeClasses") {
        world.upsert_runtime_class(&class);
    }
    world
}

fn adjusted(case: &Case) -> Result<(), String> {
    let got = adjust_resources(&Arc::new(case.object("incoming")), &world(case));
    let want: Workload = read(&case.want["wl"]);
    finish("workload", workloads([&*got]), &workloads([&want]))
}

fn checks(case: &Case) -> Result<(), String> {
    let wl: Workload = case.object("incoming");
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    let got = json!(status::checks_for(&wl, &queue.spec));
    finish("checks", got, &as_set(&case.want["admissionChecks"]))
}

fn state(value: &Value) -> AssignmentState {
    let tried: Vec<BTreeMap<String, i32>> = read_or_default(&value["lastTriedFlavorIdx"]);
    let by_name =
        |m: &BTreeMap<String, i32>| m.iter().map(|(k, &i)| (ResourceName::new(k), i)).collect();
    AssignmentState {
        last_tried_flavor_idx: tried.iter().map(by_name).collect(),
        ..Default::default()
    }
}

fn progress(case: &Case) -> Result<(), String> {
    let got = state(&case.config["state"]).pending_flavors();
    finish(
        "pending",
        json!(got),
        &json!(case.want["pendingFlavors"] == true),
    )
}

fn timestamps(case: &Case) -> Result<(), String> {
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

fn explicit(case: &Case) -> Result<(), String> {
    let sets: Vec<PodSet> = read_or_default(&case.config["podSets"]);
    finish_bool(
        sets.iter().any(predicates::is_explicitly_requesting_tas),
        case,
    )
}

fn second_pass(case: &Case) -> Result<(), String> {
    finish_bool(
        predicates::needs_second_pass(&case.object("incoming")),
        case,
    )
}

fn totals(case: &Case) -> Result<(), String> {
    let options = &case.config["infoOptions"];
    let rules: BTreeMap<String, Value> = read_or_default(&options["resourceTransformations"]);
    let config = EngineConfig {
        excluded_resource_prefixes: read_or_default(&options["excludedResourcePrefixes"]),
        resource_transformations: rules.values().map(transformation).collect(),
        ..config(case)
    };
    let info = Info::new(Arc::new(case.object("incoming")), &config);
    let shown = |ps: &kueue_lab_admission::workload::PodSetResources| {
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
    finish("info", got, &want)
}

fn propagated(case: &Case) -> Result<(), String> {
    let mut wl: Workload = case.object("incoming");
    let info = info(&case.config["info"], &config(case));
    let requests = status::resource_requests(&info, &Formatter::default());
    finish_bool(
        status::propagate_resource_requests(&mut wl, &requests),
        case,
    )
}

fn usage(case: &Case) -> Result<(), String> {
    let info = info(&case.config["info"], &config(case));
    let mut frs = FlavorResources::default();
    let (assigned, _) = usage_of(&info, &mut frs);
    let assigned = frs.named(&assigned).into_iter();
    let unassigned = info.unassigned_requests();
    let unassigned = unassigned.iter();
    let got = json!({
        "assigned": assigned.map(|(k, v)| (k.to_string(), json!(v))).collect::<Map<_, _>>(),
        "unassigned":
            unassigned.map(|(k, v)| (k.as_str().to_owned(), json!(v))).collect::<Map<_, _>>(),
    });
    finish("usage", got, &case.want["value"])
}

fn chosen(case: &Case) -> Result<(), String> {
    let check: Option<AdmissionCheckState> = read_or_default(&case.config["acs"]);
    let elastic = case.config["isElastic"] == true;
    let wl: Workload = case.object("incoming");
    finish_bool(
        predicates::is_cluster_chosen(&wl, check.as_ref(), elastic),
        case,
    )
}

fn nodes(case: &Case) -> Result<(), String> {
    let got = predicates::assigned_nodes(&case.object("incoming"));
    finish("nodes", json!(got), &as_set(&case.want["value"]))
}

fn limits(case: &Case) -> Result<(), String> {
    let got = limit_range_errors(&case.object("incoming"), &world(case));
    finish("errors", json!(got), &case.want["error"])
}

fn resources(case: &Case) -> Result<(), String> {
    let got = resource_errors(&case.object("incoming"));
    finish("errors", json!(got), &case.want["error"])
}

fn approximate(case: &Case) -> Result<(), String> {
    let amount = &case.config["amount"];
    let amount = amount.as_i64().map_or(Amount::UNLIMITED, Amount::new);
    let name = ResourceName::new(case.config["resource"].as_str().unwrap());
    let got = amount.as_f64(name.is_cpu());
    let want = match case.want["value"].as_str() {
        Some("+Inf") => f64::INFINITY,
        Some(other) => other.parse().unwrap(),
        None => case.want["value"].as_f64().unwrap_or(0.0),
    };
    finish("value", json!(got.to_string()), &json!(want.to_string()))
}

fn amount(case: &Case) -> Result<(), String> {
    let name = ResourceName::new(case.config["resource"].as_str().unwrap());
    let quantity: Quantity = read(&case.config["quantity"]);
    let amount = amount_of(name, Decimal::parse_lossy(&quantity));
    let unlimited = amount.is_unlimited();
    let value = if unlimited { 0 } else { amount.value() };
    let got = json!({"unlimited": unlimited, "value": value});
    finish("amount", got, &case.want)
}
