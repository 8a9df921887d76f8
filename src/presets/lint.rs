//! Warnings about queue configurations that are valid and do not do what they seem to: policies that never
//! find a victim, limits without effect, queues that cannot admit anything.

use std::collections::BTreeMap;

use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::{Finding, Manifest};

/// A warning with the name by which it is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// The name, such as `policy-without-victims`.
    pub name: &'static str,
    /// The warning.
    pub finding: Finding,
}

impl Lint {
    /// The warning, with the comment that switches it off.
    pub(super) fn into_finding(self) -> Finding {
        let allow = format!("`{ALLOW}{}` switches this warning off", self.name);
        let remedy = match &self.finding.remedy {
            Some(remedy) => format!("{remedy} ({allow})"),
            None => allow,
        };
        self.finding.remedy(remedy)
    }
}

/// The comment that switches a warning off for the objects of a file: `# kueue-lab: allow NAME`.
const ALLOW: &str = "# kueue-lab: allow ";

/// The warnings about the objects of a preset, without those that a comment in their file switches off.
/// `texts` are the texts of the files by name.
pub fn lint(manifests: &[Manifest], texts: &BTreeMap<&str, &str>) -> Vec<Lint> {
    let of_kueue = |kind: &'static str| {
        let of_kind = move |m: &&Manifest| m.key.group == GROUP && m.key.kind == kind;
        manifests.iter().filter(of_kind).collect::<Vec<_>>()
    };
    let queues = of_kueue("ClusterQueue");
    let mut lints = Vec::new();
    for queue in &queues {
        lints.extend(without_cohort(queue));
        lints.extend(lending_limits(queue));
        lints.extend(no_quota(queue));
    }
    lints.extend(cohorts_of_one(&queues, &of_kueue("Cohort")));
    lints.extend(priority_classes(
        &queues,
        &of_kueue("WorkloadPriorityClass"),
    ));
    lints.retain(|lint| !is_allowed(lint, texts));
    lints.sort_by(|a, b| (&a.finding.file, a.finding.at).cmp(&(&b.finding.file, b.finding.at)));
    lints
}

fn is_allowed(lint: &Lint, texts: &BTreeMap<&str, &str>) -> bool {
    let text = texts
        .get(lint.finding.file.as_str())
        .copied()
        .unwrap_or_default();
    let allowed = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(ALLOW));
    let mut names = allowed.flat_map(|names| names.split([',', ' ']));
    names.any(|name| name == lint.name)
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// A policy that is set and not `Never`.
fn policy<'v>(queue: &'v Manifest, pointer: &str) -> Option<&'v str> {
    let policy = text(&queue.object, pointer);
    (!policy.is_empty() && policy != "Never").then_some(policy)
}

/// Policies towards other queues of a ClusterQueue that has no cohort.
fn without_cohort(queue: &Manifest) -> Vec<Lint> {
    if !text(&queue.object, "/spec/cohortName").is_empty() {
        return Vec::new();
    }
    let policies = [
        (
            "/spec/preemption/reclaimWithinCohort",
            "reclaimWithinCohort",
        ),
        (
            "/spec/preemption/borrowWithinCohort/policy",
            "borrowWithinCohort",
        ),
    ];
    let set = policies
        .into_iter()
        .filter_map(|(path, name)| Some((name, policy(queue, path)?)));
    set.map(|(name, value)| {
        let message = format!(
            "{name}: {value} never finds a victim: the ClusterQueue is in no cohort, so no other queue uses its quota"
        );
        let finding = queue.warning(&format!("spec.preemption.{name}"), message);
        Lint {
            name: "policy-without-victims",
            finding: finding.remedy("set cohortName, or remove the policy"),
        }
    })
    .collect()
}

fn items<'v>(object: &'v Value, field: &str) -> &'v [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

/// The quotas of a ClusterQueue: path and object.
fn quotas(queue: &Manifest) -> Vec<(String, &Value)> {
    let mut quotas = Vec::new();
    for (g, group) in items(&queue.object["spec"], "resourceGroups")
        .iter()
        .enumerate()
    {
        for (f, flavor) in items(group, "flavors").iter().enumerate() {
            for (r, quota) in items(flavor, "resources").iter().enumerate() {
                let path = format!("spec.resourceGroups[{g}].flavors[{f}].resources[{r}]");
                quotas.push((path, quota));
            }
        }
    }
    quotas
}

fn amount(quota: &Value, field: &str) -> Option<i128> {
    let value = quota.get(field).filter(|value| !value.is_null())?;
    Quantity::of(value).map(Quantity::nanos)
}

/// Lending limits that do not limit.
fn lending_limits(queue: &Manifest) -> Vec<Lint> {
    quotas(queue)
        .into_iter()
        .filter_map(|(path, quota)| {
            let (limit, nominal) = (amount(quota, "lendingLimit")?, amount(quota, "nominalQuota")?);
            if limit < nominal {
                return None;
            }
            let message = "lendingLimit has no effect: it is not below nominalQuota, all of which is lent without it";
            let finding = queue.warning(&format!("{path}.lendingLimit"), message);
            Some(Lint {
                name: "unreachable-lending-limit",
                finding: finding.remedy("lower or remove it"),
            })
        })
        .collect()
}

/// A ClusterQueue in no cohort with a resource without quota.
fn no_quota(queue: &Manifest) -> Vec<Lint> {
    if !text(&queue.object, "/spec/cohortName").is_empty() {
        return Vec::new();
    }
    let mut total: BTreeMap<&str, (i128, String)> = BTreeMap::new();
    let all = quotas(queue);
    for (path, quota) in &all {
        let nominal = amount(quota, "nominalQuota").unwrap_or_default();
        let name = quota["name"].as_str().unwrap_or_default();
        total.entry(name).or_insert_with(|| (0, path.clone())).0 += nominal;
    }
    let empty = total.into_iter().filter(|(_, (nominal, _))| *nominal == 0);
    empty
        .map(|(resource, (_, path))| {
            let message = format!(
                "no workload that requests {resource} is ever admitted: its quota is 0, and there is no cohort to borrow from"
            );
            Lint {
                name: "queue-without-quota",
                finding: queue.warning(&format!("{path}.nominalQuota"), message),
            }
        })
        .collect()
}

/// Cohorts with one ClusterQueue, no quota of their own and no relatives: nothing can be borrowed.
fn cohorts_of_one(queues: &[&Manifest], cohorts: &[&Manifest]) -> Vec<Lint> {
    let cohort_of = |queue: &&&Manifest| text(&queue.object, "/spec/cohortName").to_owned();
    let lonely = queues.iter().filter(|queue| {
        let cohort = cohort_of(queue);
        let members = queues
            .iter()
            .filter(|other| cohort_of(other) == cohort)
            .count();
        // A Cohort object can have quota, a parent or children.
        let is_plain = cohorts.iter().all(|other| {
            let is_named = other.key.name == cohort;
            let is_child = text(&other.object, "/spec/parentName") == cohort;
            let has_parent = !text(&other.object, "/spec/parentName").is_empty();
            let has_quota = other.object["spec"]["resourceGroups"].is_array();
            !is_child && !(is_named && (has_parent || has_quota))
        });
        !cohort.is_empty() && members == 1 && is_plain
    });
    lonely
        .map(|queue| {
            let message = format!(
                "the cohort {:?} has no other ClusterQueue and no quota, so there is nothing to borrow and no ClusterQueue to lend to",
                cohort_of(&queue)
            );
            Lint {
                name: "cohort-of-one",
                finding: queue.warning("spec.cohortName", message),
            }
        })
        .collect()
}

/// Classes of equal value where only lower priorities are preempted.
fn priority_classes(queues: &[&Manifest], classes: &[&Manifest]) -> Vec<Lint> {
    let lower = |queue: &&&Manifest| {
        let policies = ["withinClusterQueue", "reclaimWithinCohort"];
        policies
            .iter()
            .any(|name| text(&queue.object, &format!("/spec/preemption/{name}")) == "LowerPriority")
    };
    let Some(queue) = queues.iter().find(lower) else {
        return Vec::new();
    };
    let mut first: BTreeMap<i64, &Manifest> = BTreeMap::new();
    let mut lints = Vec::new();
    for class in classes {
        let Some(value) = class.object["value"].as_i64() else {
            continue;
        };
        if let Some(other) = first.get(&value) {
            let message = format!(
                "the value {value} is also that of {}: with LowerPriority, as in ClusterQueue {}, neither preempts the other",
                other.key.name, queue.key.name
            );
            lints.push(Lint {
                name: "equal-priorities",
                finding: class
                    .warning("value", message)
                    .remedy("use different values"),
            });
        } else {
            first.insert(value, class);
        }
    }
    lints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceFile, parse};
    use kueue_lab_api::config::FeatureGates;

    fn queue(spec: &str, quota: &str) -> String {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: q}}\nspec:\n  namespaceSelector: {{}}\n{spec}  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n    - name: f\n      resources:\n      - {{name: cpu, {quota}}}\n"
        )
    }

    fn names(text: &str) -> Vec<String> {
        let file = SourceFile {
            name: "q.yaml".into(),
            bytes: text.as_bytes().to_vec(),
        };
        let parsed = parse(&[file], &FeatureGates::default());
        assert!(
            !parsed.findings.iter().any(Finding::is_error),
            "{:?}",
            parsed.findings
        );
        let found = lint(&parsed.manifests, &BTreeMap::from([("q.yaml", text)]));
        let lines = found
            .iter()
            .map(|l| format!("{} {}", l.finding.at.line, l.name));
        lines.collect()
    }

    #[test]
    fn configurations_without_effect_are_reported() {
        let reclaim = "  preemption: {reclaimWithinCohort: Any}\n";
        assert_eq!(
            names(&queue(reclaim, "nominalQuota: 3")),
            ["6 policy-without-victims"]
        );
        assert_eq!(
            names(&queue("", "nominalQuota: 0")),
            ["11 queue-without-quota"]
        );
        let cohort = "  cohortName: c\n";
        assert_eq!(
            names(&queue(cohort, "nominalQuota: 3")),
            ["6 cohort-of-one"]
        );
        let limited = queue(cohort, "nominalQuota: 3, lendingLimit: 3");
        assert_eq!(
            names(&limited),
            ["6 cohort-of-one", "12 unreachable-lending-limit"]
        );
        assert_eq!(names(&queue("", "nominalQuota: 3")), Vec::<String>::new());
        let allowed = format!("# kueue-lab: allow cohort-of-one, equal-priorities\n{limited}");
        assert_eq!(names(&allowed), ["13 unreachable-lending-limit"]);
    }

    #[test]
    fn equal_priorities_matter_with_lower_priority_only() {
        let class = |name: &str, value: u32| {
            format!(
                "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n"
            )
        };
        let classes = class("a", 10) + &class("b", 10) + &class("c", 11);
        let lower = queue(
            "  preemption: {withinClusterQueue: LowerPriority}\n",
            "nominalQuota: 3",
        );
        assert_eq!(names(&(lower + &classes)), ["22 equal-priorities"]);
        assert_eq!(
            names(&(queue("", "nominalQuota: 3") + &classes)),
            Vec::<String>::new()
        );
    }
}
