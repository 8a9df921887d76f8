use std::sync::Arc;

use serde_json::{Value, json};

use super::resource_requests::resource_requests_for_workload;
use super::*;
use crate::config::EngineConfig;
use crate::resources::Decimal;
use crate::workload::DraRequests;
use kueue_lab_api::field::{FieldErrorKind, FieldErrors, aggregate};
use kueue_lab_api::v1beta2::Workload;

const CLASS: &str = "gpu.example.com";

/// The DRA objects and configuration of a test.
#[derive(Default)]
struct DraFixture {
    devices: DraCache,
    config: EngineConfig,
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

impl DraFixture {
    /// Maps `CLASS` to `gpus`.
    fn mapped() -> Self {
        let mut fixture = Self::default();
        let classes = [CLASS.to_owned()];
        fixture
            .config
            .device_class_mappings
            .map("gpus", &classes, &[]);
        fixture
    }

    /// Maps `CLASS` to `gpu-share` by a source named `memory` of all devices of the driver.
    fn measured(source: DeviceSource) -> Self {
        let mut fixture = Self::default();
        fixture
            .config
            .gates
            .kueue_dra_integration_consumable_capacity = true;
        fixture.measure("gpu-share", "memory", source);
        fixture.class(CLASS, json!({}));
        fixture
    }

    fn measure(&mut self, resource: &str, name: &str, source: DeviceSource) {
        let measure = DeviceSourceConfig {
            resource: resource.into(),
            driver: "drv".into(),
            name: name.into(),
            selector: Some("true".into()),
        };
        let classes = [CLASS.to_owned()];
        let mappings = &mut self.config.device_class_mappings;
        mappings.map(resource, &classes, &[(source, measure)]);
    }

    fn class(&mut self, name: &str, spec: Value) {
        self.class_of(name, spec, "2026-01-01T00:00:00Z");
    }

    fn class_of(&mut self, name: &str, spec: Value, created: &str) {
        let meta = json!({"name": name, "creationTimestamp": created});
        self.devices
            .upsert_class(read(json!({"metadata": meta, "spec": spec})));
    }

    /// A template with these requests.
    fn template(&mut self, name: &str, requests: Value) {
        self.devices.upsert_template(read(json!({
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"spec": {"devices": {"requests": requests}}},
        })));
    }

    fn slice(&mut self, name: &str, pool: (&str, i64, i64), devices: Value) {
        let (pool, generation, slices) = pool;
        self.devices.upsert_slice(read(json!({
            "metadata": {"name": name},
            "spec": {
                "driver": "drv",
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
                "devices": devices,
            },
        })));
    }

    fn count(&self, wl: &Workload) -> Result<DraRequests, FieldErrors> {
        let EngineConfig {
            gates,
            device_class_mappings,
            ..
        } = &self.config;
        resource_requests_for_workload(wl, &self.devices, device_class_mappings, gates)
    }

    /// The requests `resource=amount` of the only pod set, `-resource` for a replaced one.
    fn counted(&self, wl: &Workload) -> Vec<String> {
        let counted = self.count(wl).unwrap();
        let added = counted.added.values().flatten();
        let added = added.map(|(name, q)| format!("{name}={}", q.0));
        let replaced = counted.replaced.values().flatten();
        added
            .chain(replaced.map(|name| format!("-{name}")))
            .collect()
    }

    /// The error text, and whether it is transient.
    fn rejected(&self, wl: &Workload) -> (String, bool) {
        let errors = self.count(wl).unwrap_err();
        let transient = errors.iter().any(|e| e.kind == FieldErrorKind::Internal);
        (aggregate(&errors), transient)
    }
}

/// Requests `count` devices of `CLASS`.
fn exactly(count: i64) -> Value {
    exactly_with(count, json!({}))
}

fn exactly_with(count: i64, more: Value) -> Value {
    let mut exactly = json!({
        "deviceClassName": CLASS, "allocationMode": "ExactCount", "count": count,
    });
    for (name, value) in more.as_object().unwrap() {
        exactly[name] = value.clone();
    }
    json!({"name": "r", "exactly": exactly})
}

fn cel(expression: &str) -> Value {
    json!({"selectors": [{"cel": {"expression": expression}}]})
}

fn workload(spec: Value) -> Workload {
    let mut wl = json!({
        "metadata": {"name": "wl", "namespace": "ns"},
        "spec": {"podSets": [
            {"name": "main", "count": 2, "template": {"spec": {"containers": [{"name": "c"}]}}},
        ]},
    });
    let pod = &mut wl["spec"]["podSets"][0]["template"]["spec"];
    for (name, value) in spec.as_object().unwrap() {
        pod[name] = value.clone();
    }
    serde_json::from_value(wl).unwrap()
}

/// A Workload whose pods have claims of these templates.
fn claiming(templates: &[&str]) -> Workload {
    let claims: Vec<Value> = templates
        .iter()
        .map(|t| json!({"name": t, "resourceClaimTemplateName": t}))
        .collect();
    workload(json!({"resourceClaims": claims}))
}

/// A Workload whose containers request these extended resources.
fn extending(inits: &[Value], containers: &[Value]) -> Workload {
    let all = |requests: &[Value]| -> Vec<Value> {
        let all = requests.iter();
        all.map(|r| json!({"name": "c", "resources": {"requests": r}}))
            .collect()
    };
    workload(json!({"initContainers": all(inits), "containers": all(containers)}))
}

const CLAIM: &str = "spec.podSets[0].template.spec.resourceClaims[0]";

#[test]
fn devices_of_all_claims_are_summed() {
    let mut fixture = DraFixture::mapped();
    fixture.template("two", json!([exactly(2), exactly(1)]));
    fixture.template("four", json!([exactly(4)]));
    assert_eq!(fixture.counted(&claiming(&["two"])), ["gpus=3"]);
    assert_eq!(fixture.counted(&claiming(&["two", "four"])), ["gpus=7"]);
    assert_eq!(fixture.counted(&claiming(&["four", "four"])), ["gpus=8"]);
    assert!(fixture.counted(&claiming(&[])).is_empty());
}

#[test]
fn admin_access_requests_no_quota() {
    let mut fixture = DraFixture::mapped();
    let admin = exactly_with(3, json!({"adminAccess": true}));
    fixture.template("t", json!([admin, exactly(1)]));
    assert_eq!(fixture.counted(&claiming(&["t"])), ["gpus=1"]);
}

#[test]
fn large_counts_do_not_overflow() {
    let mut fixture = DraFixture::mapped();
    fixture.template("t", json!([exactly(i64::MAX), exactly(i64::MAX)]));
    let most = i64::MAX;
    let counted = fixture.count(&claiming(&["t"])).unwrap();
    let sum = &counted.added["main"]["gpus"];
    assert_eq!(Decimal::parse_lossy(sum).value(), most);
}

#[test]
fn unsupported_claims_are_permanent_errors() {
    let mut fixture = DraFixture::mapped();
    fixture.template(
        "first",
        json!([{"name": "r", "firstAvailable": [
        {"name": "a", "deviceClassName": CLASS}]}]),
    );
    fixture.template(
        "all",
        json!([exactly_with(0, json!({"allocationMode": "All"}))]),
    );
    fixture.template(
        "odd",
        json!([exactly_with(0, json!({"allocationMode": "Odd"}))]),
    );
    fixture.template("none", json!([exactly(1), {"name": "r"}]));
    let other = exactly_with(1, json!({"deviceClassName": "other"}));
    fixture.template("other", json!([other]));
    let error_of = |name: &str| {
        let (text, transient) = fixture.rejected(&claiming(&[name]));
        assert!(!transient, "{text}");
        text.strip_prefix(CLAIM).unwrap().to_owned()
    };
    assert_eq!(
        error_of("first"),
        ".devices.requests[0]: Invalid value: null: ResourceClaimTemplate first: FirstAvailable device selection is not supported"
    );
    assert_eq!(
        error_of("all"),
        ".devices.requests[0].exactly.allocationMode: Invalid value: \"All\": ResourceClaimTemplate all: AllocationMode 'All' is not supported"
    );
    assert_eq!(
        error_of("odd"),
        ".devices.requests[0].exactly.allocationMode: Invalid value: \"Odd\": ResourceClaimTemplate odd: unsupported allocation mode: Odd"
    );
    assert_eq!(
        error_of("none"),
        ".devices.requests[1]: Invalid value: null: ResourceClaimTemplate none: Exactly must be set if FirstAvailable is nil"
    );
    assert_eq!(
        error_of("other"),
        ".resourceClaimTemplateName: Not found: \"DeviceClass other is not mapped in DRA configuration for podset main\""
    );
}

#[test]
fn selectors_above_a_limit_are_rejected() {
    let mut fixture = DraFixture::mapped();
    fixture.class(CLASS, json!({}));
    let devices: Vec<Value> = (0..40)
        .map(|i| json!({"name": format!("d{i}"), "attributes": {"model": {"string": "m"}}}))
        .collect();
    fixture.slice("s", ("pool", 1, 1), devices.into());
    let range = "lists.range(400)";
    let nested = format!("{range}.all(a, {range}.all(b, {range}.all(c, a + b + c >= 0)))");
    // Some 400,000 for each device.
    let expensive = format!("{range}.all(a, lists.range(100).all(b, a != -1 && b != -1)) && false");
    let deep = format!("{}true{}", "(".repeat(1000), ")".repeat(1000));
    let long = format!("device.driver == '{}'", "x".repeat(10 << 10));
    for (name, expression, limit) in [
        (
            "nested",
            &nested,
            "actual cost limit exceeded (CELSelectorExpressionMaxCost, 1000000)",
        ),
        (
            "expensive",
            &expensive,
            "cost budget of all devices (device-selector-cost, 2000000)",
        ),
        ("deep", &deep, "expression recursion limit exceeded: 250"),
        (
            "long",
            &long,
            "more than 10240 bytes (CELSelectorExpressionMaxLength)",
        ),
    ] {
        fixture.template(name, json!([exactly_with(1, cel(expression))]));
        let (text, transient) = fixture.rejected(&claiming(&[name]));
        assert!(!transient, "{name}");
        assert!(text.contains(limit), "{name}: {text}");
    }
}

#[test]
fn a_missing_template_is_a_transient_error() {
    let mut fixture = DraFixture::mapped();
    let wl = claiming(&["late"]);
    let (text, transient) = fixture.rejected(&wl);
    assert!(transient);
    assert_eq!(
        text,
        format!(
            "{CLAIM}: Internal error: failed to get claim spec for ResourceClaimTemplate late in podset main: ResourceClaimTemplate.resource.k8s.io \"late\" not found"
        )
    );
    fixture.template("late", json!([exactly(1)]));
    assert_eq!(fixture.counted(&wl), ["gpus=1"]);
    fixture.devices.remove_template("ns", "late");
    assert!(fixture.count(&wl).is_err());
}

#[test]
fn selectors_must_match_enough_devices() {
    let mut fixture = DraFixture::mapped();
    fixture.class(CLASS, cel("device.driver == \"drv\""));
    let large = "device.attributes[\"drv\"].model == \"large\"";
    let memory = "device.capacity['drv'].memory.compareTo(quantity('40Gi')) >= 0";
    let optional =
        "\"model\" in device.attributes[\"nowhere.io\"] || device.attributes[\"drv\"].index < 2";
    fixture.template("one", json!([exactly_with(1, cel(large))]));
    fixture.template(
        "two",
        json!([exactly_with(1, cel(large)), exactly_with(1, cel(large))]),
    );
    fixture.template("memory", json!([exactly_with(1, cel(memory))]));
    fixture.template("optional", json!([exactly_with(2, cel(optional))]));
    fixture.template("wrong", json!([exactly_with(1, cel("device.driver =="))]));
    fixture.template(
        "lost",
        json!([exactly_with(1, cel("device.attributes[\"drv\"].lost == 1"))]),
    );
    let device = |name: &str, model: &str, index: i64, memory: &str| {
        json!({
            "name": name,
            "attributes": {"model": {"string": model}, "drv/index": {"int": index}},
            "capacity": {"memory": {"value": memory}},
        })
    };
    let devices = json!([
        device("d0", "large", 0, "80Gi"),
        device("d1", "small", 1, "10Gi")
    ]);
    let (text, transient) = fixture.rejected(&claiming(&["one"]));
    assert!(transient);
    assert_eq!(
        text,
        format!(
            "{CLAIM}.devices.requests[0].exactly.selectors: Internal error: ResourceClaimTemplate one: insufficient matching devices for CEL selector in DeviceClass gpu.example.com: 0 device(s) match in the cluster but 1 requested"
        )
    );
    fixture.slice("s", ("pool", 1, 1), devices);
    assert_eq!(fixture.counted(&claiming(&["one"])), ["gpus=1"]);
    assert_eq!(fixture.counted(&claiming(&["memory"])), ["gpus=1"]);
    assert_eq!(fixture.counted(&claiming(&["optional"])), ["gpus=2"]);
    // The only large device counts for one request.
    let (text, _) = fixture.rejected(&claiming(&["two"]));
    assert!(
        text.contains("requests[1].exactly.selectors: Internal error"),
        "{text}"
    );
    let (text, transient) = fixture.rejected(&claiming(&["wrong"]));
    assert!(!transient);
    assert!(
        text.contains("requests[0].exactly.selectors: Invalid value: null: ResourceClaimTemplate wrong: devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: \"device.driver ==\": CEL compilation failed: compilation failed: "),
        "{text}"
    );
    let (text, transient) = fixture.rejected(&claiming(&["lost"]));
    assert!(!transient);
    assert!(
        text.ends_with("ResourceClaimTemplate lost: CEL evaluation failed for DeviceClass gpu.example.com: no such key: lost"),
        "{text}"
    );
    fixture.devices.remove_class(CLASS);
    let (text, transient) = fixture.rejected(&claiming(&["one"]));
    assert!(transient);
    assert_eq!(
        text,
        format!(
            "{CLAIM}.devices.requests[0]: Internal error: ResourceClaimTemplate one: failed to get DeviceClass gpu.example.com: DeviceClass.resource.k8s.io \"gpu.example.com\" not found"
        )
    );
}

#[test]
fn an_extended_resource_counts_as_its_device_class() {
    let mut fixture = DraFixture::mapped();
    fixture.class(CLASS, json!({"extendedResourceName": "ex.com/gpu"}));
    fixture.class("plain", json!({"extendedResourceName": "ex.com/nic"}));
    let wl = extending(
        &[json!({"ex.com/gpu": "3"}), json!({"ex.com/nic": "1"})],
        &[
            json!({"ex.com/gpu": "1", "ex.com/other": "500m", "cpu": "1"}),
            json!({"ex.com/gpu": "1", "ex.com/nic": "2"}),
        ],
    );
    assert!(needs_dra_reconcile(
        &wl,
        &fixture.devices,
        &fixture.config.gates
    ));
    assert_eq!(
        fixture.counted(&wl),
        ["ex.com/nic=2", "gpus=3", "-ex.com/gpu", "-ex.com/nic"]
    );
    fixture.config.gates.kueue_dra_integration_extended_resource = false;
    assert!(!needs_dra_reconcile(
        &wl,
        &fixture.devices,
        &fixture.config.gates
    ));
    assert!(fixture.counted(&wl).is_empty());
}

#[test]
fn claims_and_extended_resources_are_summed() {
    let mut fixture = DraFixture::mapped();
    fixture.class(CLASS, json!({"extendedResourceName": "ex.com/gpu"}));
    fixture.template("t", json!([exactly(2)]));
    let mut wl = extending(&[], &[json!({"ex.com/gpu": "1"})]);
    let claims = claiming(&["t"]).spec.pod_sets[0].template.spec.clone();
    let spec = Arc::make_mut(&mut wl.spec.pod_sets[0].template)
        .spec
        .as_mut()
        .unwrap();
    spec.resource_claims = claims.unwrap().resource_claims;
    assert_eq!(fixture.counted(&wl), ["gpus=3", "-ex.com/gpu"]);
}

#[test]
fn fractional_device_requests_are_rejected() {
    let mut fixture = DraFixture::mapped();
    fixture.class(CLASS, json!({"extendedResourceName": "ex.com/gpu"}));
    let halves = extending(
        &[],
        &[json!({"ex.com/gpu": "500m"}), json!({"ex.com/gpu": "500m"})],
    );
    let (text, transient) = fixture.rejected(&halves);
    assert!(!transient);
    let path = |i: usize| {
        format!("spec.podSets[0].template.spec.containers[{i}].resources.requests.ex.com/gpu")
    };
    let detail = "Invalid value: \"500m\": extended resource quantity must be an integer";
    assert_eq!(
        text,
        format!("[{}: {detail}, {}: {detail}]", path(0), path(1))
    );
    let huge = json!({"ex.com/gpu": "9000000000000000000"});
    let (text, _) = fixture.rejected(&extending(&[], &[huge.clone(), huge]));
    assert!(
        text.ends_with("total extended resource quantity overflows int64"),
        "{text}"
    );
}

#[test]
fn the_newest_class_backs_an_extended_resource_then_the_first_by_name() {
    let mut fixture = DraFixture::default();
    let classes = ["a", "b", "c"];
    for class in classes {
        let resource = format!("of-{class}");
        let names = [class.to_owned()];
        fixture
            .config
            .device_class_mappings
            .map(&resource, &names, &[]);
    }
    let spec = json!({"extendedResourceName": "ex.com/gpu"});
    let wl = extending(&[], &[json!({"ex.com/gpu": "1"})]);
    fixture.class_of("a", spec.clone(), "2026-01-01T00:00:00Z");
    fixture.class_of("c", spec.clone(), "2026-01-02T00:00:00Z");
    fixture.class_of("b", spec, "2026-01-02T00:00:00Z");
    assert_eq!(fixture.counted(&wl)[0], "of-b=1");
    fixture.devices.remove_class("b");
    assert_eq!(fixture.counted(&wl)[0], "of-c=1");
    fixture.class_of(
        "c",
        json!({"extendedResourceName": "ex.com/x"}),
        "2026-01-02T00:00:00Z",
    );
    assert_eq!(fixture.counted(&wl)[0], "of-a=1");
    fixture.devices.remove_class("a");
    assert!(!needs_dra_reconcile(
        &wl,
        &fixture.devices,
        &fixture.config.gates
    ));
}

#[test]
fn partitions_count_by_the_maximum_consumed_counter() {
    let mut fixture = DraFixture::measured(DeviceSource::Counter);
    fixture.template("t", json!([exactly(2)]));
    let wl = claiming(&["t"]);
    let (text, transient) = fixture.rejected(&wl);
    assert!(transient);
    assert_eq!(
        text,
        format!(
            "{CLAIM}.devices.requests[0]: Internal error: insufficient matching devices for counter driver: 0 device(s) match but 2 requested"
        )
    );
    let device = |name: &str, memory: Option<&str>| match memory {
        Some(memory) => json!({"name": name, "consumesCounters": [
            {"counterSet": "gpu0", "counters": {"memory": {"value": memory}}}]}),
        None => json!({"name": name}),
    };
    fixture.slice(
        "s0",
        ("pool", 1, 2),
        json!([device("a", None), device("b", None)]),
    );
    // The devices of an incomplete pool do not count.
    assert!(fixture.rejected(&wl).0.contains("0 device(s) match"));
    fixture.slice("s1", ("pool", 1, 2), json!([device("c", None)]));
    let (text, transient) = fixture.rejected(&wl);
    assert!(transient);
    assert!(
        text.ends_with("matched devices have no consumesCounters entry for counter \"memory\""),
        "{text}"
    );
    // A new generation replaces the whole pool.
    let newer = json!([
        device("a", Some("10Gi")),
        device("b", Some("20Gi")),
        device("c", None)
    ]);
    fixture.slice("s2", ("pool", 2, 1), newer);
    assert_eq!(fixture.counted(&wl), [format!("gpu-share={}", 40i64 << 30)]);
    // A second counter of the same class counts in addition.
    fixture.measure("gpu-slices", "slices", DeviceSource::Counter);
    assert!(fixture.rejected(&wl).0.contains("for counter \"slices\""));
}

#[test]
fn partitions_require_resource_claims() {
    let mut fixture = DraFixture::measured(DeviceSource::Counter);
    fixture.class(CLASS, json!({"extendedResourceName": "ex.com/gpu"}));
    let wl = extending(&[], &[json!({"ex.com/gpu": "1"})]);
    let (text, transient) = fixture.rejected(&wl);
    assert!(!transient);
    assert_eq!(
        text,
        "spec.podSets[0].template.spec.containers[0]: Invalid value: \"ex.com/gpu\": extended resource ex.com/gpu resolves to DeviceClass gpu.example.com with counters configured; use ResourceClaimTemplates with CEL selectors for counter-based quota"
    );
    fixture
        .config
        .gates
        .kueue_dra_integration_partitionable_devices = false;
    assert_eq!(fixture.counted(&wl)[0], "gpu-share=1");
}

#[test]
fn shared_capacity_counts_as_allocated() {
    let mut fixture = DraFixture::measured(DeviceSource::Capacity);
    let requesting =
        |amount: &str| exactly_with(2, json!({"capacity": {"requests": {"memory": amount}}}));
    fixture.template("five", json!([requesting("5Gi")]));
    fixture.template("much", json!([requesting("50Gi")]));
    fixture.template("open", json!([exactly(1)]));
    let device = |name: &str, policy: Value| json!({"name": name, "capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}}});
    let counts = |fixture: &mut DraFixture, policy: Value, template: &str| {
        let devices = json!([device("a", policy.clone()), device("b", policy)]);
        fixture.slice("s", ("pool", 1, 1), devices);
        fixture
            .count(&claiming(&[template]))
            .map(|counted| Decimal::parse_lossy(&counted.added["main"]["gpu-share"]).value() >> 30)
    };
    assert_eq!(counts(&mut fixture, json!({}), "five"), Ok(10));
    assert_eq!(counts(&mut fixture, json!({}), "open"), Ok(40));
    assert_eq!(
        counts(&mut fixture, json!({"default": "1Gi"}), "open"),
        Ok(1)
    );
    let values = json!({"validValues": ["4Gi", "8Gi", "16Gi"]});
    assert_eq!(counts(&mut fixture, values.clone(), "five"), Ok(16));
    let range = json!({"validRange": {"min": "2Gi", "step": "4Gi", "max": "32Gi"}});
    assert_eq!(counts(&mut fixture, range, "five"), Ok(12));
    let errors = counts(&mut fixture, values, "much").unwrap_err();
    assert_eq!(
        aggregate(&errors),
        format!(
            "{CLAIM}.devices.requests[0]: Invalid value: null: capacity request cannot be satisfied by any matched device's RequestPolicy for dimension \"memory\""
        )
    );
    fixture.slice("s", ("pool", 1, 1), json!([{"name": "a"}, {"name": "b"}]));
    let (text, transient) = fixture.rejected(&claiming(&["five"]));
    assert!(transient);
    assert!(
        text.ends_with("matched devices have no capacity dimension \"memory\""),
        "{text}"
    );
}

#[test]
fn without_the_gate_claims_are_rejected_or_ignored() {
    let fixture = DraFixture::mapped();
    let mut gates = fixture.config.gates.clone();
    gates.kueue_dra_integration = false;
    assert!(needs_dra_reconcile(
        &claiming(&["t"]),
        &fixture.devices,
        &gates
    ));
    assert!(!needs_dra_reconcile(
        &claiming(&[]),
        &fixture.devices,
        &gates
    ));
    gates.kueue_dra_reject_workloads_when_dra_disabled = false;
    assert!(!needs_dra_reconcile(
        &claiming(&["t"]),
        &fixture.devices,
        &gates
    ));
}

#[test]
fn measured_resources_are_written_in_powers_of_1024() {
    let fixture = DraFixture::measured(DeviceSource::Counter);
    let mappings = &fixture.config.device_class_mappings;
    assert!(mappings.uses_driver("drv") && !mappings.uses_driver("other"));
    let names: Vec<String> = mappings.binary_resources().into_iter().collect();
    assert_eq!(names, ["gpu-share"]);
    assert!(
        DraFixture::mapped()
            .config
            .device_class_mappings
            .binary_resources()
            .is_empty()
    );
}
