//! The gates against upstream's, and the parsers.

use super::kube_features::FEATURE_SPECS;
use super::*;

fn parse(text: &str) -> Result<FeatureGates, String> {
    FeatureGates::parse(text).map_err(|e| e.to_string())
}

#[test]
fn the_specs_are_in_order() {
    for (i, row) in FEATURE_SPECS.iter().enumerate() {
        assert_eq!(row.feature as usize, i);
        assert_eq!(Feature::named(row.name), Some(row.feature));
    }
    assert!(FEATURE_SPECS.len() <= 128, "one bit a gate");
    assert_eq!(FeatureGates::default().unmet_dependencies(), []);
}

#[test]
fn the_specs_match_upstream() {
    let Some(file) = kueue_lab_testing::shared("conformance/featuregates.json") else {
        return;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let upstream: serde_json::Value = serde_json::from_str(&text).unwrap();
    let gates = upstream["featureGates"].as_array().unwrap();
    assert_eq!(gates.len(), FEATURE_SPECS.len());
    for gate in gates {
        let f = Feature::named(gate["name"].as_str().unwrap()).unwrap();
        assert_eq!(gate["default"], f.default(), "{f}");
        assert_eq!(gate["stage"], f.stage().to_string(), "{f}");
        assert_eq!(gate["since"], f.since(), "{f}");
        assert_eq!(gate["lockToDefault"], f.is_locked(), "{f}");
        let needs: Vec<&str> = f.depends_on().iter().map(|d| d.name()).collect();
        assert_eq!(gate["dependsOn"], serde_json::json!(needs), "{f}");
    }
}

#[test]
fn gates_are_parsed() {
    let gates = parse("PartialAdmission=false, PriorityBoost = T,,").unwrap();
    assert!(!gates.enabled(Feature::PartialAdmission));
    assert!(gates.enabled(Feature::PriorityBoost));
    assert!(gates.enabled(Feature::MultiKueue));
    assert_eq!(gates.non_default().count(), 2);
    assert_eq!(parse(""), Ok(FeatureGates::default()));
    let alphas = parse("AllAlpha=true,PriorityBoost=false").unwrap();
    assert!(alphas.enabled(Feature::ConcurrentAdmission));
    assert!(!alphas.enabled(Feature::PriorityBoost));
}

#[test]
fn invalid_gates_are_rejected_with_upstreams_messages() {
    for (text, message) in [
        ("PriorityBoost", "missing bool value for PriorityBoost"),
        (
            "PriorityBoost=yes",
            "invalid value of PriorityBoost=yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax",
        ),
        ("Nonsense=true", "unrecognized feature gate: Nonsense"),
        (
            "TLSOptions=false",
            "cannot set feature gate TLSOptions to false, feature is locked to true",
        ),
        (
            "UnadmittedWorkloadsExplicitStatus=true,UnadmittedWorkloadsObservability=false",
            "UnadmittedWorkloadsExplicitStatus is enabled, but depends on features that are disabled: [UnadmittedWorkloadsObservability]",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), message);
    }
    let many = parse("TASFailedNodeReplacement=false").unwrap_err();
    assert!(
        many.starts_with("[TASFailedNodeReplacementFailFast is enabled"),
        "{many}"
    );
    assert_eq!(parse("TLSOptions=true"), Ok(FeatureGates::default()));
}
