//! [`lint`]: all warnings about the objects of a preset.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_api::config::Configuration;
use kueue_lab_api::v1beta2::GROUP;

use super::allow_comments::{ALLOW, AllowComments};
use super::borrowers::Borrowers;
use super::cohorts::{CohortMembers, without_cohort, without_victims};
use super::engine_quotas::EngineQuotas;
use super::node_capacity::{NodeCapacity, NodesSource};
use super::preemption_loops::preemption_loops;
use super::priority_classes::priority_classes;
use super::quotas::{lending_limits, lending_limits_of_cohort, no_quota};
use super::starvation::{has_workloads, starving_queue};
use crate::cluster_objects::ClusterObjects;
use crate::{Finding, Manifest, ResourceKey};

/// The names of all warnings that can be switched off.
pub const LINT_NAMES: [&str; 12] = [
    "cohort-of-one",
    "equal-priorities",
    "flavor-without-nodes",
    "old-api",
    "partial-admission-loop",
    "policy-without-victims",
    "preemption-loop",
    "queue-without-quota",
    "quota-above-capacity",
    "reclamation-loop",
    "starving-queue",
    "unreachable-lending-limit",
];

/// A warning with the name by which it is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lint {
    /// The name, such as `policy-without-victims`.
    pub(crate) name: &'static str,
    /// The warning.
    pub(crate) finding: Finding,
}

impl Lint {
    /// The warning, with the comment that switches it off.
    pub(crate) fn into_finding(self) -> Finding {
        let allow = format!(
            "`{ALLOW}{name}` switches this warning off, `kueue-lab test --warning {name}` shows it",
            name = self.name
        );
        let remedy = match &self.finding.remedy {
            Some(remedy) => format!("{remedy} ({allow})"),
            None => allow,
        };
        self.finding.remedy(remedy)
    }
}

/// The input of the warnings about a preset beside its objects.
#[derive(Clone)]
pub(crate) struct LintContext<'a> {
    /// The texts of the files by name.
    pub(crate) texts: BTreeMap<&'a str, &'a str>,
    /// Kueue's configuration.
    pub(crate) configuration: &'a Configuration,
    /// The nodes and the queues of the cluster.
    pub(crate) cluster: ClusterObjects<'a>,
    /// The source of the nodes.
    pub(crate) nodes_source: NodesSource,
    /// Whether there are jobs that can be admitted with fewer pods.
    pub(crate) partial_admission: bool,
}

/// The warnings about the objects of a preset, in the order of their positions, without those that a comment switches
/// off.
pub(crate) fn lint(manifests: &[Manifest], context: &LintContext<'_>) -> Vec<Lint> {
    let own: BTreeSet<&ResourceKey> = manifests.iter().map(|m| &m.key).collect();
    let of_cluster = context.cluster.manifests.iter();
    let of_cluster = of_cluster.filter(|m| !own.contains(&m.key));
    let all: Vec<&Manifest> = of_cluster.chain(manifests).collect();
    let of_kueue = |kind: &'static str| {
        let of_kind = |m: &&Manifest| m.key.group == GROUP && m.key.kind == kind;
        all.iter().copied().filter(of_kind).collect::<Vec<_>>()
    };
    let (queues, cohorts) = (of_kueue("ClusterQueue"), of_kueue("Cohort"));
    let local_queues = of_kueue("LocalQueue");
    let with_workloads = queues.iter().copied();
    let with_workloads: Vec<&Manifest> = with_workloads
        .filter(|queue| has_workloads(queue, &local_queues))
        .collect();
    let members = CohortMembers::new(&queues, &cohorts);
    let engine = EngineQuotas::new(&queues, &cohorts);
    let borrowers = Borrowers::new(&engine, &with_workloads);
    let fair_sharing = context.configuration.fair_sharing.is_some();
    let mut lints = Vec::new();
    for queue in &queues {
        lints.extend(without_cohort(queue));
        lints.extend(without_victims(queue, &members, &engine, fair_sharing));
        lints.extend(lending_limits(queue));
        lints.extend(no_quota(queue, &engine));
    }
    for queue in &with_workloads {
        lints.extend(starving_queue(queue, &borrowers));
    }
    lints.extend(preemption_loops(&all, manifests, context));
    lints.extend(members.cohorts_of_one());
    for cohort in &cohorts {
        lints.extend(lending_limits_of_cohort(cohort, &engine));
    }
    lints.extend(priority_classes(
        &queues,
        &of_kueue("WorkloadPriorityClass"),
        fair_sharing,
    ));
    let capacity = NodeCapacity {
        queues: &queues,
        cohorts: &cohorts,
        flavors: &of_kueue("ResourceFlavor"),
        topologies: &of_kueue("Topology"),
        nodes: context.cluster.nodes,
        nodes_source: context.nodes_source,
        configuration: context.configuration,
    };
    lints.extend(capacity.lints());
    let files: BTreeSet<&str> = manifests.iter().map(|m| m.file.as_str()).collect();
    lints.retain(|lint| files.contains(lint.finding.file.as_str()));
    let comments: BTreeMap<&str, AllowComments<'_>> = context
        .texts
        .iter()
        .map(|(file, text)| {
            let of_file = manifests.iter().filter(|m| m.file == *file);
            let starts = of_file.map(|m| m.position().line);
            (*file, AllowComments::new(text, starts))
        })
        .collect();
    lints.retain(|lint| {
        let comments = comments.get(lint.finding.file.as_str());
        !comments.is_some_and(|comments| comments.allow(lint.name, lint.finding.at))
    });
    lints.sort_by(|a, b| (&a.finding.file, a.finding.at).cmp(&(&b.finding.file, b.finding.at)));
    lints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_manifest::manifest_of_cluster;
    use crate::{SourceFile, parse};
    use serde_json::json;

    use kueue_lab_api::config::{FairSharing, FeatureGates};

    fn queue(spec: &str, quota: &str) -> String {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: q}}\nspec:\n  namespaceSelector: {{}}\n{spec}  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n    - name: f\n      resources:\n      - {{name: cpu, {quota}}}\n"
        )
    }

    fn names(text: &str) -> Vec<String> {
        names_with(text, &Configuration::defaulted())
    }

    /// The names with fair sharing.
    fn names_with_shares(text: &str) -> Vec<String> {
        let configuration = Configuration {
            fair_sharing: Some(FairSharing::default()),
            ..Configuration::defaulted()
        };
        names_with(text, &configuration)
    }

    fn names_with(text: &str, configuration: &Configuration) -> Vec<String> {
        names_in_cluster(text, configuration, &[])
    }

    fn names_in_cluster(
        text: &str,
        configuration: &Configuration,
        cluster: &[Manifest],
    ) -> Vec<String> {
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
        let context = LintContext {
            texts: BTreeMap::from([("q.yaml", text)]),
            configuration,
            cluster: ClusterObjects {
                nodes: &[],
                manifests: cluster,
            },
            nodes_source: NodesSource::Lab,
            partial_admission: false,
        };
        let found = lint(&parsed.manifests, &context);
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

    /// A ClusterQueue in a cohort with a quota of CPUs.
    fn member(name: &str, cohort: &str, quota: &str, preemption: &str) -> String {
        format!(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: {name}}}\nspec: {{cohortName: {cohort}, preemption: {{{preemption}}}, resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: f, resources: [{{name: cpu, {quota}}}]}}]}}]}}\n"
        )
    }

    const FLAVOR: &str =
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n";

    fn cohort(name: &str, parent: &str, limits: &str) -> String {
        format!(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {{name: {name}}}\nspec: {{parentName: {parent}, resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: f, resources: [{{name: cpu, nominalQuota: 0, {limits}}}]}}]}}]}}\n"
        )
    }

    #[test]
    fn a_queue_starves_only_if_the_limits_let_others_borrow_all() {
        let owner = |cohort: &str| member("owner", cohort, "nominalQuota: 10", "");
        let guest = |name: &str, limit: u32| {
            member(
                name,
                "org",
                &format!("nominalQuota: 0, borrowingLimit: {limit}"),
                "",
            )
        };
        let is_starving = |files: &[String]| {
            let found = names(&files.concat());
            found.iter().any(|name| name.ends_with("starving-queue"))
        };
        assert!(is_starving(&[owner("org"), guest("a", 10)]));
        assert!(!is_starving(&[owner("org"), guest("a", 2)]));
        assert!(!is_starving(&[owner("org"), guest("a", 2), guest("b", 7)]));
        assert!(is_starving(&[owner("org"), guest("a", 3), guest("b", 7)]));
        // The limits of Cohorts on the path.
        let below = |limits: &str| {
            [
                owner("private"),
                guest("a", 10),
                cohort("private", "org", limits),
            ]
        };
        assert!(is_starving(&below("lendingLimit: 10")));
        assert!(!is_starving(&below("lendingLimit: 1")));
        let borrower = member("a", "guests", "nominalQuota: 0", "");
        let above = |limits: &str| {
            [
                owner("org"),
                borrower.clone(),
                cohort("guests", "org", limits),
            ]
        };
        assert!(is_starving(&above("borrowingLimit: 10")));
        assert!(!is_starving(&above("borrowingLimit: 9")));
    }

    #[test]
    fn queues_without_workloads_neither_starve_nor_borrow() {
        let queue = |name: &str, more: &str| {
            member(name, "org", "nominalQuota: 3", "")
                .replace("spec: {", &format!("spec: {{{more}"))
        };
        let local = |queue: &str| {
            format!(
                "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{name: {queue}, namespace: default}}\nspec: {{clusterQueue: {queue}}}\n"
            )
        };
        let starving = |files: &[String]| {
            let found = names(&files.concat());
            let starving = found.iter().filter(|name| name.ends_with("starving-queue"));
            starving.count()
        };
        let (a, b) = (queue("a", ""), queue("b", ""));
        assert_eq!(starving(&[a.clone(), b.clone()]), 2);
        assert_eq!(starving(&[a.clone(), b.clone(), local("a"), local("b")]), 2);
        // `b` only lends.
        assert_eq!(starving(&[a.clone(), b, local("a")]), 0);
        for policy in ["Hold", "HoldAndDrain"] {
            let stopped = queue("b", &format!("stopPolicy: {policy}, "));
            assert_eq!(starving(&[a.clone(), stopped]), 0);
        }
    }

    #[test]
    fn queues_of_the_cluster_count_and_cause_no_warnings_of_their_own() {
        let object = |name: &str, quota: &str| {
            let quota = json!({"name": "cpu", "nominalQuota": quota});
            json!({"metadata": {"name": name, "uid": "u"}, "status": {}, "spec": {
                "cohortName": "org", "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                    {"name": "f", "resources": [quota]},
                ]}],
            }})
        };
        let gates = FeatureGates::default();
        let of_cluster =
            |name: &str| manifest_of_cluster("ClusterQueue", &object(name, "3"), &gates).unwrap();
        let own = member("q", "org", "nominalQuota: 3", "reclaimWithinCohort: Any");
        let found =
            |cluster: &[Manifest]| names_in_cluster(&own, &Configuration::defaulted(), cluster);
        assert_eq!(found(&[]), ["5 cohort-of-one"]);
        assert_eq!(found(&[of_cluster("foreign")]), [""; 0]);
        // The objects of the preset replace those of the same name.
        assert_eq!(found(&[of_cluster("q")]), ["5 cohort-of-one"]);
    }

    #[test]
    fn jobs_without_a_class_loop_with_those_of_one_class() {
        let preemption = "reclaimWithinCohort: Any, withinClusterQueue: LowerPriority";
        let queues = ["a", "b"].map(|name| member(name, "org", "nominalQuota: 8", preemption));
        let queues = queues.concat() + FLAVOR;
        let class = |more: &str| {
            format!(
                "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: p}}\nvalue: 1{more}\n"
            )
        };
        assert_eq!(names_with_shares(&queues), [""; 0]);
        let loops = names_with_shares(&(queues.clone() + &class("")));
        assert_eq!(loops, ["5 preemption-loop", "10 preemption-loop"]);
        // Jobs without a class have its priority.
        let default = class("\nglobalDefault: true");
        assert_eq!(names_with_shares(&(queues + &default)), [""; 0]);
    }

    #[test]
    fn a_queue_without_nominal_quota_reclaims_nothing() {
        // `third` can borrow from `other`.
        let other = member("other", "org", "nominalQuota: 3, lendingLimit: 2", "")
            + &member("third", "org", "nominalQuota: 3, lendingLimit: 2", "");
        let reclaims = |quota: &str, more: &str| {
            let preemption = format!("reclaimWithinCohort: Any{more}");
            let found = names(&(other.clone() + &member("q", "org", quota, &preemption)));
            found
                .iter()
                .any(|name| name.ends_with("policy-without-victims"))
        };
        assert!(reclaims("nominalQuota: 0", ""));
        assert!(!reclaims("nominalQuota: 1", ""));
        let borrows = ", borrowWithinCohort: {policy: LowerPriority}";
        assert!(!reclaims("nominalQuota: 0", borrows));
    }

    #[test]
    fn policies_have_preemption_targets_only_if_others_can_borrow() {
        let without_victims = |files: &[String], fair_sharing: bool| {
            let text = files.concat();
            let found = match fair_sharing {
                true => names_with_shares(&text),
                false => names(&text),
            };
            let policies = found
                .iter()
                .filter(|name| name.ends_with("policy-without-victims"));
            policies.count()
        };
        let reclaims = "reclaimWithinCohort: Any";
        let owner =
            |quota: &str, more: &str| member("owner", "org", quota, &format!("{reclaims}{more}"));
        let guest = |quota: &str| member("guest", "org", quota, "");
        let lends = "nominalQuota: 8";
        assert_eq!(without_victims(&[owner(lends, ""), guest(lends)], false), 0);
        let own = "nominalQuota: 8, borrowingLimit: 0";
        assert_eq!(without_victims(&[owner(lends, ""), guest(own)], false), 1);
        assert_eq!(without_victims(&[owner(lends, ""), guest(own)], true), 1);
        let other_flavor = guest(lends).replace("name: f,", "name: g,");
        assert_eq!(without_victims(&[owner(lends, ""), other_flavor], false), 1);
        // Others borrow from `guest` only, and its quota is not that of `owner`.
        let keeps = "nominalQuota: 8, lendingLimit: 0";
        let third = member("third", "org", lends, "");
        let all = [owner(keeps, ""), guest(lends), third];
        assert_eq!(without_victims(&all, false), 1);
        assert_eq!(without_victims(&all, true), 0);
        let borrows = ", borrowWithinCohort: {policy: LowerPriority}";
        let all = [owner(lends, borrows), guest(lends)];
        assert_eq!(without_victims(&all, false), 0);
        assert_eq!(without_victims(&all, true), 1);
        let all = [owner(own, borrows), guest(lends)];
        assert_eq!(without_victims(&all, false), 1);
    }

    #[test]
    fn a_queue_in_a_cohort_without_quota_admits_nothing() {
        let without_quota = |files: &[String]| {
            let found = names(&files.concat());
            let quotas = found
                .iter()
                .filter(|name| name.ends_with("queue-without-quota"));
            quotas.count()
        };
        let queue = |name: &str, quota: &str| member(name, "org", quota, "");
        let zero = "nominalQuota: 0";
        let one = queue("b", "nominalQuota: 1");
        assert_eq!(without_quota(&[queue("a", zero), one.clone()]), 0);
        let limited = queue("a", "nominalQuota: 0, borrowingLimit: 0");
        assert_eq!(without_quota(&[limited, one]), 1);
        assert_eq!(without_quota(&[queue("a", zero), queue("b", zero)]), 2);
        let of_cohort = cohort("org", "root", "").replace("nominalQuota: 0", "nominalQuota: 1");
        assert_eq!(without_quota(&[queue("a", zero), of_cohort]), 0);
    }

    #[test]
    fn lending_limits_of_cohorts_are_compared_with_all_below_them() {
        let unreachable = |limit: &str| {
            let files = [
                member("a", "team", "nominalQuota: 8", ""),
                member("b", "org", "nominalQuota: 8", ""),
                cohort("team", "org", limit),
            ];
            let found = names(&files.concat());
            found
                .iter()
                .any(|name| name.ends_with("unreachable-lending-limit"))
        };
        assert!(unreachable("lendingLimit: 8"));
        assert!(!unreachable("lendingLimit: 7"));
        assert!(!unreachable(""));
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
        let borrows = "reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority}";
        let queues = ["q", "other"].map(|name| member(name, "org", "nominalQuota: 3", borrows));
        let text = queues.concat() + &classes;
        assert_eq!(names(&text), ["20 equal-priorities"]);
        let is_equal = |name: &String| name.ends_with("equal-priorities");
        assert!(!names_with_shares(&text).iter().any(is_equal));
        assert_eq!(
            names(&(queue("", "nominalQuota: 3") + &classes)),
            Vec::<String>::new()
        );
    }
}
