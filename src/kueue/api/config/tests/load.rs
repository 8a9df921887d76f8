//! Configuration files: defaults, warnings and errors with their positions.

use super::super::*;
use super::fixture::*;

#[test]
fn an_empty_configuration_has_the_defaults_of_upstream() {
    let c = read(&file("v1beta2", "")).configuration;
    assert_eq!(c, Configuration::defaulted());
    assert_eq!(c.frameworks(), ["batch/job"]);
    let waiting = c.wait_for_pods_ready.unwrap();
    assert_eq!(
        (waiting.timeout.as_secs(), waiting.recovery_timeout),
        (1800, Some(waiting.timeout))
    );
    assert!(!waiting.blocks_admission());
    let strategy = waiting.requeuing_strategy.unwrap();
    assert_eq!(strategy.timestamp(), RequeuingTimestamp::Eviction);
    assert_eq!(
        (
            strategy.backoff_base_seconds(),
            strategy.backoff_max_seconds()
        ),
        (60, 3600)
    );
    assert_eq!(strategy.backoff_limit_count, None);
    assert!(c.fair_sharing.is_none() && c.admission_fair_sharing.is_none());
    let multi_kueue = c.multi_kueue.unwrap();
    assert_eq!(
        multi_kueue.dispatcher_name.as_deref(),
        Some(DISPATCHER_ALL_AT_ONCE)
    );
}

#[test]
fn v1beta1_files_keep_their_meaning() {
    let c = read(&file("v1beta1", "")).configuration;
    assert_eq!(
        (c.wait_for_pods_ready, c.fair_sharing, c.visibility_server),
        (None, None, None)
    );
    let c = read(&file(
        "v1beta1",
        "waitForPodsReady: {enable: true}\nfairSharing: {enable: true}\n",
    ));
    let waiting = c.configuration.wait_for_pods_ready.unwrap();
    assert_eq!(
        (waiting.timeout.as_secs(), waiting.blocks_admission()),
        (300, true)
    );
    assert_eq!(
        c.configuration.fair_sharing.unwrap().strategies(),
        [
            PreemptionStrategy::LessThanOrEqualToFinalShare,
            PreemptionStrategy::LessThanInitialShare
        ]
    );
    let off = "waitForPodsReady: {timeout: 1m}\nfairSharing: {enable: false, preemptionStrategies: [LessThanInitialShare]}\n";
    let c = read(&file("v1beta1", off)).configuration;
    assert_eq!((c.wait_for_pods_ready, c.fair_sharing), (None, None));
}

#[test]
fn a_config_map_is_unwrapped() {
    let loaded = read(CONFIG_MAP);
    let c = &loaded.configuration;
    assert_eq!(c.frameworks(), ["batch/job", "pod"]);
    assert_eq!(c.metrics.bind_address, ":8080");
    assert_eq!(
        c.controller.as_ref().unwrap().group_kind_concurrency["Job.batch"],
        5
    );
    assert_eq!(c.client_connection.as_ref().unwrap().burst, Some(100));
    let selector = c.managed_jobs_namespace_selector.as_ref().unwrap();
    assert_eq!(
        selector.match_expressions.as_ref().unwrap()[0].operator,
        "NotIn"
    );
    assert_eq!(
        loaded
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [
            "line 24, column 7: integrations.podOptions: namespaceSelector is read as managedJobsNamespaceSelector, which holds for all jobs (write managedJobsNamespaceSelector)"
        ]
    );
    assert_eq!(
        rejected(&CONFIG_MAP.replace("burst: 100", "bursts: 100")),
        ["line 19, column 7: clientConnection.bursts: unknown field (did you mean burst?)"]
    );
    assert!(
        rejected("kind: ConfigMap\ndata: {other: x}\n")[0]
            .contains("has no controller_manager_config.yaml")
    );
    assert!(rejected("data: {controller_manager_config.yaml: 3}\n")[0].contains("must be text"));
    let quoted = format!(
        "data: {{controller_manager_config.yaml: {:?}}}\n",
        file("v1beta2", "nothing: 1\n")
    );
    assert!(rejected(&quoted)[0].starts_with("line 1, column 1: nothing: unknown field"));
}

#[test]
fn duplicate_frameworks_are_warned_about() {
    let text = file(
        "v1beta2",
        "integrations:\n  frameworks: [batch/job, pod, pod, batch/job]\n",
    );
    let loaded = read(&text);
    assert_eq!(loaded.configuration.frameworks(), ["batch/job", "pod"]);
    assert_eq!(
        loaded
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [
            "line 4, column 32: integrations.frameworks[2]: \"pod\" is a duplicate (Kueue fails to start with a duplicate framework)",
            "line 4, column 37: integrations.frameworks[3]: \"batch/job\" is a duplicate (Kueue fails to start with a duplicate framework)",
        ]
    );
}

#[test]
fn invalid_files_are_rejected_with_a_position() {
    assert_eq!(
        rejected(&file(
            "v1beta2",
            "fairSharing:\n  enable: true\nqueueVisibility: {}\n"
        )),
        [
            "line 4, column 3: fairSharing.enable: unknown field",
            "line 5, column 1: queueVisibility: unknown field",
        ]
    );
    assert_eq!(
        rejected(&file(
            "v1beta1",
            "multiKueue: {clusterProfile: {}}\nmetrics:\n  customLabels:\n  - {name: a}\n  - {name: b, sourceKind: Cohort}\nintegrations: {podOptions: {selector: 1}}\n"
        )),
        [
            "line 3, column 14: multiKueue.clusterProfile: unknown field",
            "line 7, column 15: metrics.customLabels[1].sourceKind: unknown field",
            "line 8, column 29: integrations.podOptions.selector: unknown field",
        ]
    );
    for (text, want) in [
        ("", "line 1, column 1: expected one configuration, found 0"),
        (
            "a: 1\n---\nb: 2\n",
            "line 3, column 1: expected one configuration, found 2",
        ),
        (
            "apiVersion: v1\nkind: Pod\n",
            "line 2, column 1: kind: must be Configuration, not \"Pod\"",
        ),
        (
            "kind: Configuration\napiVersion: config.kueue.x-k8s.io/v3\n",
            "line 2, column 1: apiVersion: must be config.kueue.x-k8s.io/v1beta2 or config.kueue.x-k8s.io/v1beta1, not \"config.kueue.x-k8s.io/v3\"",
        ),
        (
            &file("v1beta2", "clientConnection:\n  qps: fast\n"),
            "line 4, column 8: clientConnection.qps: expected a number, found the string \"fast\"",
        ),
        (
            &file("v1beta2", "waitForPodsReady:\n  timeout: 5\n"),
            "line 4, column 12: waitForPodsReady.timeout: expected a string, found the number 5; put quotes around it",
        ),
        (
            &file("v1beta2", "waitForPodsReady:\n  timeout: 5 min\n"),
            "line 4, column 12: waitForPodsReady.timeout: time: unknown unit \" min\" in duration \"5 min\"; write a number and a unit, such as 30s, 5m or 1h30m",
        ),
        (
            &file("v1beta2", "featureGates:\n  Nonsense: true\n"),
            "line 3, column 1: featureGates: Invalid value: {\"Nonsense\":true}: unrecognized feature gate: Nonsense",
        ),
    ] {
        assert_eq!(rejected(text), [want]);
    }
}

#[test]
fn feature_gates_come_from_the_file_or_the_command_line() {
    let loaded = read(&file("v1beta2", "featureGates: {PriorityBoost: true}\n"));
    assert!(loaded.gates.enabled(Feature::PriorityBoost));
    let error = resolve_gates(Some("PriorityBoost=true"), &loaded.configuration).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("feature gates for CLI and configuration cannot both specified")
    );
    let by_line = resolve_gates(Some("PartialAdmission=false"), &Configuration::default()).unwrap();
    assert!(!by_line.enabled(Feature::PartialAdmission));
    assert_eq!(
        resolve_gates(Some(""), &loaded.configuration),
        Ok(loaded.gates)
    );
}

#[test]
fn a_framework_of_an_old_release_is_refused_in_each_version() {
    for version in ["v1beta1", "v1beta2"] {
        let head = format!("apiVersion: config.kueue.x-k8s.io/{version}\nkind: Configuration\n");
        let frameworks = "integrations: {frameworks: [batch/job, kubeflow.org/mxjob]}\n";
        let errors = load(&format!("{head}{frameworks}")).unwrap_err();
        let error = &errors[0].message;
        assert!(
            error.contains("\"kubeflow.org/mxjob\""),
            "{version}: {error}"
        );
    }
}
