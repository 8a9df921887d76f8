//! The errors of the validation, with their messages.

use serde_json::{Value, json};

use super::super::*;

/// The errors of a configuration given as JSON, with defaults applied.
fn errors(body: Value) -> Vec<String> {
    errors_with(body, &FeatureGates::default())
}

fn errors_with(body: Value, gates: &FeatureGates) -> Vec<String> {
    let mut configuration: Configuration = serde_json::from_value(body).unwrap();
    apply_defaults(&mut configuration);
    validate(&configuration, gates)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn rules_of_jobs() {
    for (body, want) in [
        (
            json!({"integrations": {"frameworks": ["batch/job", "batch/job"], "externalFrameworks": ["Job.v1.batch", "Foo"]}}),
            vec![
                "integrations.frameworks[1]: Duplicate value: \"batch/job\"",
                "integrations.externalFrameworks[0]: Duplicate value: \"Job.v1.batch\"",
                "integrations.externalFrameworks[1]: Invalid value: \"Foo\": must be format, 'Kind.version.group.com'",
            ],
        ),
        (
            json!({"waitForPodsReady": {"timeout": "-1m", "recoveryTimeout": "-2s", "requeuingStrategy": {
                "timestamp": "Now", "backoffLimitCount": -1, "backoffBaseSeconds": -1, "backoffMaxSeconds": -1}}}),
            vec![
                "waitForPodsReady.timeout: Invalid value: \"-1m0s\": must be greater than or equal to 0",
                "waitForPodsReady.recoveryTimeout: Invalid value: \"-2s\": must be greater than or equal to 0",
                "waitForPodsReady.requeuingStrategy.timestamp: Unsupported value: \"Now\": supported values: \"Creation\", \"Eviction\"",
                "waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value: -1: must be greater than or equal to 0",
                "waitForPodsReady.requeuingStrategy.backoffBaseSeconds: Invalid value: -1: must be greater than or equal to 0",
                "waitForPodsReady.requeuingStrategy.backoffMaxSeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            json!({"managedJobsNamespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}),
            vec![
                "managedJobsNamespaceSelector: Invalid value: {\"matchLabels\":{\"kubernetes.io/metadata.name\":\"kube-system\"}}: should not match the \"kube-system\" namespace",
            ],
        ),
        (
            json!({"objectRetentionPolicies": {"workloads": {"afterFinished": "-1s", "afterDeactivatedByKueue": "-1h"}}}),
            vec![
                "objectRetentionPolicies.workloads.afterFinished: Invalid value: \"-1s\": must be greater than or equal to 0",
                "objectRetentionPolicies.workloads.afterDeactivatedByKueue: Invalid value: \"-1h0m0s\": must be greater than or equal to 0",
            ],
        ),
    ] {
        assert_eq!(errors(body), want);
    }
    let unknown = errors(json!({"integrations": {"frameworks": ["foo"]}}));
    assert!(unknown[0].starts_with("integrations.frameworks[0]: Unsupported value: \"foo\": supported values: \"batch/job\", \"deployment\""));
    // Pods may not be managed in the namespaces they would block.
    let everywhere =
        json!({"integrations": {"frameworks": ["pod"]}, "managedJobsNamespaceSelector": {}});
    assert_eq!(errors(everywhere).len(), 4);
    let off = FeatureGates::default().with(Feature::DisableWaitForPodsReady, true);
    assert_eq!(
        errors_with(json!({"waitForPodsReady": {"timeout": "-1m"}}), &off),
        [""; 0]
    );
}

#[test]
fn rules_of_quota() {
    for (body, want) in [
        (
            json!({"fairSharing": {}}),
            vec!["fairSharing.preemptionStrategies: Required value: must be specified"],
        ),
        (
            json!({"fairSharing": {"preemptionStrategies": ["LessThanInitialShare", "LessThanOrEqualToFinalShare"]}}),
            vec![
                "fairSharing.preemptionStrategies: Unsupported value: [\"LessThanInitialShare\",\"LessThanOrEqualToFinalShare\"]: supported values: \"LessThanOrEqualToFinalShare\", \"LessThanInitialShare\", \"LessThanOrEqualToFinalShare,LessThanInitialShare\"",
            ],
        ),
        (
            json!({"admissionFairSharing": {"usageHalfLifeTime": "-1s", "usageSamplingInterval": "-1s", "resourceWeights": {"cpu": -1.0}}}),
            vec![
                "admissionFairSharing.usageHalfLifeTime: Invalid value: \"-1s\": must be greater than or equal to 0",
                "admissionFairSharing.usageSamplingInterval: Invalid value: \"-1s\": must be greater than 0",
                "admissionFairSharing.resourceWeights[cpu]: Invalid value: {\"cpu\":-1.0}: must be greater than or equal to 0",
            ],
        ),
        (
            json!({"resources": {"transformations": [{"input": "a", "strategy": "Retain"}, {"input": "a", "strategy": "Swap"}]}}),
            vec![
                "resources.transformations[1].strategy: Unsupported value: \"Swap\": supported values: \"Retain\", \"Replace\"",
                "resources.transformations[1].input: Duplicate value: \"a\"",
            ],
        ),
        (
            json!({"resources": {"quotaCheckStrategy": "IgnoreUndeclared", "excludeResourcePrefixes": ["x"]}}),
            vec![
                "resources.quotaCheckStrategy: Invalid value: \"IgnoreUndeclared\": excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared",
            ],
        ),
        (
            json!({"resources": {"quotaCheckStrategy": "Never"}}),
            vec![
                "resources.quotaCheckStrategy: Unsupported value: \"Never\": supported values: \"IgnoreUndeclared\", \"BlockUndeclared\"",
            ],
        ),
    ] {
        assert_eq!(errors(body), want);
    }
}

#[test]
fn rules_of_servers_and_clusters() {
    for (body, want) in [
        (
            json!({"internalCertManagement": {"webhookServiceName": "1a", "webhookSecretName": "-"}}),
            vec![
                "internalCertManagement.webhookServiceName: Invalid value: \"1a\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                "internalCertManagement.webhookSecretName: Invalid value: \"-\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ],
        ),
        (
            json!({"tls": {"minVersion": "VersionTLS13", "cipherSuites": ["TLS_AES_128_GCM_SHA256"], "curvePreferences": [29]}}),
            vec![
                "tls.cipherSuites: Invalid value: [\"TLS_AES_128_GCM_SHA256\"]: may not be specified when `minVersion` is 'VersionTLS13'",
            ],
        ),
        (
            json!({"tls": {"minVersion": "VersionTLS11", "curvePreferences": [0]}}),
            vec![
                "tls: Invalid value: {\"minVersion\":\"VersionTLS11\",\"curvePreferences\":[0]}: invalid minVersion. Please use VersionTLS12 or VersionTLS13\ninvalid curve preferences: curve preference 0 is out of range (must be 1-65535)",
            ],
        ),
        (
            json!({"visibilityServer": {"bindAddress": "here", "bindPort": 0}}),
            vec![
                "visibilityServer.bindAddress: Invalid value: \"here\": must be a valid IP address",
                "visibilityServer.bindPort: Invalid value: 0: must be a valid port number (1-65535)",
            ],
        ),
        (
            json!({"multiKueue": {"gcInterval": "-1s", "workerLostTimeout": "-1s", "origin": "-",
                "externalFrameworks": [{"name": "Job.v1.batch"}, {"name": "X.v1.y"}, {"name": "X.v1.y"}, {"name": "X"}],
                "incrementalDispatcherConfig": {"stepSize": 0}}}),
            vec![
                "multiKueue.gcInterval: Invalid value: -1000000000: must be greater than or equal to 0",
                "multiKueue.workerLostTimeout: Invalid value: -1000000000: must be greater than or equal to 0",
                "multiKueue.origin: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                "multiKueue.externalFrameworks[0].name: Invalid value: \"Job.v1.batch\": conflicts with a built-in MultiKueue adapter",
                "multiKueue.externalFrameworks[2].name: Duplicate value: \"X.v1.y\"",
                "multiKueue.externalFrameworks[3].name: Invalid value: \"X\": must be in 'kind.version.group' format",
                "multiKueue.incrementalDispatcherConfig: Invalid value: {\"stepSize\":0}: incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental dispatcher",
                "multiKueue.incrementalDispatcherConfig.stepSize: Invalid value: 0: must be greater than or equal to 1",
            ],
        ),
        (
            json!({"multiKueue": {"clusterProfile": {
                "accessProviders": [{"name": "", "execConfig": {"interactiveMode": "Often", "env": [{"name": ""}]}}],
                "credentialsProviders": [{}]}}}),
            vec![
                "multiKueue.clusterProfile.credentialsProviders: Forbidden: must not be specified when accessProviders is specified",
                "multiKueue.clusterProfile.accessProviders.name: Required value: must be specified",
                "multiKueue.clusterProfile.accessProviders.execConfig.command: Required value: must be specified",
                "multiKueue.clusterProfile.accessProviders.execConfig.apiVersion: Required value: must be specified",
                "multiKueue.clusterProfile.accessProviders.execConfig.env.name: Required value: must be specified",
                "multiKueue.clusterProfile.accessProviders.execConfig.interactiveMode: Unsupported value: \"Often\": supported values: \"Never\", \"IfAvailable\", \"Always\"",
            ],
        ),
    ] {
        assert_eq!(errors(body), want);
    }
    let incremental = json!({"multiKueue": {"dispatcherName": DISPATCHER_INCREMENTAL}});
    assert_eq!(errors(incremental), [""; 0]);
}

#[test]
fn rules_of_metric_labels() {
    let labels = |labels: Value| errors(json!({"metrics": {"customLabels": labels}}));
    assert_eq!(
        labels(
            json!([{"name": "team"}, {"name": "tier", "sourceKind": "Workload", "trackedValues": ["a"]}])
        ),
        [""; 0]
    );
    assert_eq!(
        labels(json!([
            {"name": "a", "sourceLabelKey": "a", "sourceAnnotationKey": "b"},
            {"name": "a", "sourceKind": "Workload"},
            {"name": "c", "sourceKind": "Pod", "trackedValues": ["x", "x"]},
        ])),
        [
            "metrics.customLabels[0]: Invalid value: {\"name\":\"a\",\"sourceLabelKey\":\"a\",\"sourceAnnotationKey\":\"b\"}: sourceLabelKey and sourceAnnotationKey are mutually exclusive",
            "metrics.customLabels[1].name: Duplicate value: \"a\"",
            "metrics.customLabels[1].trackedValues: Invalid value: []: must not be empty when sourceKind is 'Workload'",
            "metrics.customLabels[2].trackedValues: Invalid value: [\"x\",\"x\"]: must not contain duplicates",
            "metrics.customLabels: Invalid value: [{\"name\":\"a\",\"sourceLabelKey\":\"a\",\"sourceAnnotationKey\":\"b\"},{\"name\":\"a\",\"sourceKind\":\"Workload\"},{\"name\":\"c\",\"sourceKind\":\"Pod\",\"trackedValues\":[\"x\",\"x\"]}]: unknown source kind: Pod",
        ]
    );
    assert!(
        labels(json!([{"name": "1a"}]))[0]
            .starts_with("metrics.customLabels[0].name: Invalid value: \"1a\": must match")
    );
    let many: Vec<Value> = (0..7).map(|i| json!({"name": format!("l{i}")})).collect();
    assert!(
        labels(json!(many))[0].ends_with(
            "too many custom labels for source kind ClusterQueue: found 7, expected <= 6"
        )
    );
}

#[test]
fn rules_of_devices() {
    let mapping = |name: &str, class: &str, sources: Value| json!({"name": name, "deviceClassNames": [class], "sources": sources});
    let measure = |name: &str| {
        json!({"name": name, "driver": "gpu.example.com",
               "deviceSelector": {"cel": {"expression": "device.driver == 'x'"}}})
    };
    let counter = |name: &str| json!([{"counter": measure(name)}]);
    let devices =
        |mappings: Vec<Value>| errors(json!({"resources": {"deviceClassMappings": mappings}}));
    let path = "resources.deviceClassMappings";
    assert_eq!(
        devices(vec![mapping("a.io/gpu", "gpu", json!([]))]),
        [""; 0]
    );
    // A class may count twice by different counters only.
    assert_eq!(
        devices(vec![
            mapping("a", "gpu", counter("memory")),
            mapping("b", "gpu", counter("compute"))
        ]),
        [""; 0]
    );
    assert_eq!(
        devices(vec![
            mapping("a", "gpu", counter("memory")),
            mapping("b", "gpu", counter("memory"))
        ]),
        [format!(
            "{path}[1].deviceClassNames[0]: Invalid value: \"gpu\": device class already has a counter source for counter \"memory\""
        )]
    );
    assert_eq!(
        devices(vec![
            mapping("a", "gpu", json!([])),
            mapping("a", "gpu", json!([])),
            mapping("b", "gpu", counter("m"))
        ]),
        [
            format!("{path}[1].name: Duplicate value: \"a\""),
            format!(
                "{path}[2].deviceClassNames[0]: Invalid value: \"gpu\": device class already mapped to resource a"
            ),
        ]
    );
    let odd = json!([{}, {"counter": measure("m"), "capacity": measure("c")},
        {"counter": {"name": "A", "driver": "-", "deviceSelector": {"cel": {"expression": "a +"}}}},
        {"capacity": measure("c")}]);
    let found = devices(vec![mapping("a", "gpu", odd)]);
    let starts = [
        "sources[0]: Required value: exactly one source type must be set per entry",
        "sources[1]: Invalid value: \"counter+capacity\": exactly one",
        "sources[2].counter.name: Invalid value: \"A\": a lowercase RFC 1123 label",
        "sources[2].counter.driver: Invalid value: \"-\"",
        "sources[2].counter.deviceSelector.cel.expression: Invalid value: \"a +\": CEL compilation failed",
        "sources[3].capacity: Invalid value: true: capacity sources require KueueDRAIntegrationConsumableCapacity",
        "sources: Invalid value: 4: cannot mix counter and capacity sources",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (error, start) in found.iter().zip(starts) {
        assert!(error.starts_with(&format!("{path}[0].{start}")), "{error}");
    }
    let gates = FeatureGates::default().with(Feature::KueueDRAIntegrationConsumableCapacity, true);
    for (name, fine) in [
        ("memory", true),
        ("a.io/memory", true),
        ("1a", false),
        ("/x", false),
        ("a.io/", false),
    ] {
        let body = json!({"resources": {"deviceClassMappings": [mapping("a", "gpu", json!([{"capacity": measure(name)}]))]}});
        assert_eq!(errors_with(body, &gates).is_empty(), fine, "{name}");
    }
    let many: Vec<Value> = (0..17)
        .map(|i| mapping(&format!("r{i}"), &format!("c{i}"), json!([])))
        .collect();
    assert_eq!(
        devices(many),
        [format!("{path}: Too many: 17: must have at most 16 items")]
    );
}
