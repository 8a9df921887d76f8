//! [`ExhaustedLimit`]: the quotas and limits of ClusterQueues and Cohorts that are used completely.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Engine;
use crate::cache::{HierarchyNodeId, HierarchyNodeKind, Quota};
use crate::resources::{Amount, FlavorResource, FlavorResourceId};
use kueue_lab_reason::QuotaField;

/// A quota or limit that is used completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExhaustedLimit {
    /// The kind of the object that sets it.
    pub kind: HierarchyNodeKind,
    /// The name of the object.
    pub name: Arc<str>,
    /// The flavor and resource.
    pub flavor_resource: FlavorResource,
    /// The field that sets it.
    pub field: QuotaField,
}

impl Engine {
    /// The quotas and limits that are used completely now:
    /// * nominal quotas, when the ClusterQueue uses its own, or when all that is lent in the subtree of a Cohort is
    ///   used;
    /// * borrowing limits;
    /// * lending limits that reserve quota for the subtree while the parent Cohort has none left. A
    ///   limit of 0 counts while another ClusterQueue of the tree has pending Workloads.
    pub fn exhausted_limits(&self) -> Vec<ExhaustedLimit> {
        let hierarchy = &self.cache.hierarchy;
        let queues = self.cache.cluster_queues();
        let queues = queues.filter_map(|queue| self.cache.node_of(&queue.name));
        let nodes = queues.chain(hierarchy.cohorts());
        let mut exhausted = Vec::new();
        for id in nodes.filter(|id| !hierarchy.has_cycle(*id)) {
            let node = &hierarchy[id];
            for (fr, quota) in node.resources.quotas() {
                for field in self.exhausted_fields(id, fr, quota) {
                    exhausted.push(ExhaustedLimit {
                        kind: node.kind,
                        name: node.name.clone(),
                        flavor_resource: hierarchy.frs.pair(fr).clone(),
                        field,
                    });
                }
            }
        }
        exhausted
    }

    fn exhausted_fields(
        &self,
        id: HierarchyNodeId,
        fr: FlavorResourceId,
        quota: Quota,
    ) -> Vec<QuotaField> {
        let hierarchy = &self.cache.hierarchy;
        let resources = &hierarchy[id].resources;
        let (usage, subtree_quota) = (resources.usage(fr), resources.subtree_quota(fr));
        let mut fields = Vec::new();
        if quota.nominal.is_positive() && usage >= subtree_quota {
            fields.push(QuotaField::NominalQuota);
        }
        let Some(parent) = hierarchy.parent(id) else {
            return fields;
        };
        let borrowed = usage.minus(subtree_quota);
        if quota
            .borrowing_limit
            .is_some_and(|limit| limit.is_positive() && borrowed >= limit)
        {
            fields.push(QuotaField::BorrowingLimit);
        }
        let limits_lending = |limit: Amount| {
            resources.local_available(fr).is_positive()
                && !hierarchy.available(parent, fr).is_positive()
                && (limit.is_positive() || self.has_pending_outside(id))
        };
        if quota.lending_limit.is_some_and(limits_lending) {
            fields.push(QuotaField::LendingLimit);
        }
        fields
    }

    /// Whether ClusterQueues of the tree of a node that are not below it have pending Workloads.
    fn has_pending_outside(&self, id: HierarchyNodeId) -> bool {
        let hierarchy = &self.cache.hierarchy;
        let below: BTreeSet<HierarchyNodeId> = match hierarchy[id].kind {
            HierarchyNodeKind::ClusterQueue => BTreeSet::from([id]),
            HierarchyNodeKind::Cohort => hierarchy.subtree_queues(id).into_iter().collect(),
        };
        let tree = hierarchy.subtree_queues(hierarchy.root(id)).into_iter();
        tree.filter(|queue| !below.contains(queue)).any(|queue| {
            let pending = self.pending_counts(&hierarchy[queue].name);
            pending.is_some_and(|pending| pending.active + pending.inadmissible > 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::EngineConfig;
    use crate::engine::test_fixtures::{at, from_json, workload};
    use crate::engine::{EngineObject, ObjectChange};

    /// Quota of the flavor on-demand.
    fn groups(quota: Value) -> Value {
        let mut quota = quota;
        quota["name"] = "cpu".into();
        json!([{"coveredResources": ["cpu"], "flavors": [{"name": "on-demand", "resources": [quota]}]}])
    }

    /// An engine with the ClusterQueues `lends` and `borrows` and with Cohorts.
    fn engine(queues: [(&str, Value); 2], cohorts: &[(&str, &str, Value)]) -> Engine {
        let mut engine = Engine::new(EngineConfig::default());
        engine.apply(
            ObjectChange::Upsert(EngineObject::Namespace(from_json(
                json!({"metadata": {"name": "ns"}}),
            ))),
            at(0),
        );
        let flavor = json!({"metadata": {"name": "on-demand"}, "spec": {}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::ResourceFlavor(from_json(flavor))),
            at(0),
        );
        for (name, parent, quota) in cohorts {
            let spec = json!({"parentName": parent, "resourceGroups": groups(quota.clone())});
            let cohort = json!({"metadata": {"name": name}, "spec": spec});
            engine.apply(
                ObjectChange::Upsert(EngineObject::Cohort(from_json(cohort))),
                at(0),
            );
        }
        for (name, (cohort, quota)) in ["lends", "borrows"].into_iter().zip(queues) {
            let spec = json!({"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": groups(quota)});
            let queue = json!({"metadata": {"name": name}, "spec": spec});
            engine.apply(
                ObjectChange::Upsert(EngineObject::ClusterQueue(from_json(queue))),
                at(0),
            );
            let local = json!({"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": name}});
            engine.apply(
                ObjectChange::Upsert(EngineObject::LocalQueue(from_json(local))),
                at(0),
            );
        }
        engine
    }

    /// The exhausted limits after `borrows` has admitted a Workload of some CPUs.
    fn exhausted(mut engine: Engine, cpu: i64) -> Vec<String> {
        if cpu > 0 {
            engine.apply(
                ObjectChange::upsert(workload("w", "borrows", cpu, true)),
                at(0),
            );
        }
        texts(&engine)
    }

    fn texts(engine: &Engine) -> Vec<String> {
        let exhausted = engine.exhausted_limits().into_iter();
        let mut texts: Vec<String> = exhausted
            .map(|limit| format!("{} {}", limit.name, limit.field.name()))
            .collect();
        texts.sort();
        texts
    }

    fn lending(limit: &str) -> Value {
        json!({"nominalQuota": "10", "lendingLimit": limit})
    }

    fn nominal(quota: &str) -> Value {
        json!({"nominalQuota": quota})
    }

    #[test]
    fn limits_of_cluster_queues() {
        let queues = || {
            let borrows = json!({"nominalQuota": "10", "borrowingLimit": "4"});
            engine([("all", lending("4")), ("all", borrows)], &[])
        };
        assert_eq!(exhausted(queues(), 9), [""; 0]);
        assert_eq!(exhausted(queues(), 13), ["borrows nominalQuota"]);
        let all = [
            "borrows borrowingLimit",
            "borrows nominalQuota",
            "lends lendingLimit",
        ];
        assert_eq!(exhausted(queues(), 14), all);
    }

    #[test]
    fn a_lending_limit_of_zero_holds_back_quota_from_pending_workloads() {
        let mut queues = engine([("all", lending("0")), ("all", nominal("10"))], &[]);
        queues.upsert_workload(workload("w", "borrows", 10, true), at(0));
        assert_eq!(texts(&queues), ["borrows nominalQuota"]);
        queues.upsert_workload(workload("waits", "borrows", 1, false), at(0));
        assert_eq!(
            texts(&queues),
            ["borrows nominalQuota", "lends lendingLimit"]
        );
        let mut apart = engine([("all", lending("0")), ("other", nominal("10"))], &[]);
        apart.apply(
            ObjectChange::upsert(workload("w", "borrows", 10, true)),
            at(0),
        );
        apart.apply(
            ObjectChange::upsert(workload("waits", "borrows", 1, false)),
            at(0),
        );
        assert_eq!(texts(&apart), ["borrows nominalQuota"]);
    }

    #[test]
    fn limits_of_cohorts() {
        // `team` has 5 CPUs of its own, `root` 3; `borrows` is in `team`, `lends` in `root`.
        let tree = |of_team: Value| {
            engine(
                [("root", lending("4")), ("team", nominal("10"))],
                &[("root", "", nominal("3")), ("team", "root", of_team)],
            )
        };
        assert_eq!(exhausted(tree(nominal("5")), 14), ["borrows nominalQuota"]);
        let both = ["borrows nominalQuota", "team nominalQuota"];
        assert_eq!(exhausted(tree(nominal("5")), 15), both);
        let all = [
            "borrows nominalQuota",
            "lends lendingLimit",
            "root nominalQuota",
            "team nominalQuota",
        ];
        assert_eq!(exhausted(tree(nominal("5")), 22), all);
        let limited = json!({"nominalQuota": "5", "borrowingLimit": "2"});
        let expected = [
            "borrows nominalQuota",
            "team borrowingLimit",
            "team nominalQuota",
        ];
        assert_eq!(exhausted(tree(limited), 17), expected);
    }

    #[test]
    fn the_lending_limit_of_a_cohort_holds_back_quota() {
        let team = json!({"nominalQuota": "5", "lendingLimit": "2"});
        let tree = engine(
            [("team", nominal("10")), ("root", nominal("10"))],
            &[("root", "", nominal("0")), ("team", "root", team)],
        );
        // 10 of its own and 2 of `team`.
        let expected = ["borrows nominalQuota", "team lendingLimit"];
        assert_eq!(exhausted(tree, 12), expected);
    }
}
