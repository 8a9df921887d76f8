//! Pod sets: sanitizing for the Workload's schema, and comparison.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec};

use super::go_pod_template::encode_as_go;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::v1beta2::PodSet;
use kueue_lab_api::validation::semantically_equal;

/// Removes duplicate environment variables: the last value wins, in the position of the first. The
/// schema of Workloads does not allow duplicates. Pod templates get the form in which Go encodes
/// them.
pub(crate) fn sanitize_pod_sets(pod_sets: &mut [PodSet]) {
    for pod_set in pod_sets {
        let template = Arc::make_mut(&mut pod_set.template);
        encode_as_go(template);
        if let Some(spec) = &mut template.spec {
            let init = spec.init_containers.iter_mut().flatten();
            spec.containers
                .iter_mut()
                .chain(init)
                .for_each(sanitize_container);
        }
    }
}

fn sanitize_container(container: &mut Container) {
    let Some(env) = &mut container.env else {
        return;
    };
    let mut kept: Vec<EnvVar> = Vec::with_capacity(env.len());
    for var in env.drain(..) {
        match kept.iter_mut().find(|known| known.name == var.name) {
            Some(known) => *known = var,
            None => kept.push(var),
        }
    }
    *env = kept;
}

/// Clears `minCount` if partial admission is disabled.
pub(crate) fn clear_min_counts(pod_sets: &mut [PodSet], gates: &FeatureGates) {
    if !gates.enabled(Feature::PartialAdmission) {
        pod_sets.iter_mut().for_each(|ps| ps.min_count = None);
    }
}

/// Whether two lists of pod sets are equal in counts and containers, and tolerations if requested.
pub(crate) fn compare_pod_set_lists(a: &[PodSet], b: &[PodSet], with_tolerations: bool) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| compare_pod_sets(a, b, with_tolerations))
}

fn compare_pod_sets(a: &PodSet, b: &PodSet, with_tolerations: bool) -> bool {
    let empty = PodSpec::default();
    let (sa, sb) = (
        a.template.spec.as_ref().unwrap_or(&empty),
        b.template.spec.as_ref().unwrap_or(&empty),
    );
    let tolerations = |s: &PodSpec| s.tolerations.clone().unwrap_or_default();
    let init = |s: &PodSpec| s.init_containers.clone().unwrap_or_default();
    a.count == b.count
        && a.min_count == b.min_count
        && (!with_tolerations || semantically_equal(&tolerations(sa), &tolerations(sb)))
        && semantically_equal(&init(sa), &init(sb))
        && semantically_equal(&sa.containers, &sb.containers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{PodTemplateSpec, ResourceRequirements, Toleration};
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    fn env(name: &str, value: &str) -> EnvVar {
        EnvVar {
            name: name.into(),
            value: Some(value.into()),
            ..Default::default()
        }
    }

    fn set(cpu: &str) -> PodSet {
        let requests = [("cpu".to_owned(), Quantity(cpu.into()))].into();
        let container = Container {
            name: "c".into(),
            resources: Some(ResourceRequirements {
                requests: Some(requests),
                ..Default::default()
            }),
            ..Default::default()
        };
        let spec = PodSpec {
            containers: vec![container],
            ..Default::default()
        };
        PodSet {
            template: Arc::new(PodTemplateSpec {
                spec: Some(spec),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    #[test]
    fn duplicate_variables_keep_the_last_value() {
        let mut sets = [set("1")];
        let spec = Arc::make_mut(&mut sets[0].template).spec.as_mut().unwrap();
        spec.containers[0].env = Some(vec![env("a", "1"), env("b", "2"), env("a", "3")]);
        sanitize_pod_sets(&mut sets);
        let spec = sets[0].template.spec.as_ref().unwrap();
        assert_eq!(
            spec.containers[0].env,
            Some(vec![env("a", "3"), env("b", "2")])
        );
    }

    #[test]
    fn absent_structs_are_empty() {
        let mut sets = [set("1")];
        let template = Arc::make_mut(&mut sets[0].template);
        template.spec.as_mut().unwrap().init_containers = Some(vec![Container::default()]);
        sanitize_pod_sets(&mut sets);
        let template = serde_json::to_value(sets[0].template.as_ref()).unwrap();
        assert_eq!(template["metadata"], serde_json::json!({}));
        let init = &template["spec"]["initContainers"][0];
        assert_eq!(init["resources"], serde_json::json!({}));
    }

    #[test]
    fn quantities_are_compared_by_value_and_tolerations_if_requested() {
        assert!(compare_pod_set_lists(&[set("1")], &[set("1000m")], true));
        assert!(!compare_pod_set_lists(&[set("1")], &[set("2")], true));
        let mut with_toleration = set("1");
        let spec = Arc::make_mut(&mut with_toleration.template).spec.as_mut();
        spec.unwrap().tolerations = Some(vec![Toleration::default()]);
        assert!(!compare_pod_set_lists(
            &[set("1")],
            std::slice::from_ref(&with_toleration),
            true
        ));
        assert!(compare_pod_set_lists(
            &[set("1")],
            &[with_toleration],
            false
        ));
        let fewer = PodSet {
            min_count: Some(1),
            ..set("1")
        };
        assert!(!compare_pod_set_lists(&[set("1")], &[fewer], false));
    }
}
