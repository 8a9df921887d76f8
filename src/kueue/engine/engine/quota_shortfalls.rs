//! [`Engine::quota_shortfalls`]: the quotas and limits for which a decision lacks quota.

use super::Engine;
use crate::cache::{HierarchyNodeId, HierarchyNodeKind};
use crate::cycle::Decision;
use crate::resources::{Amount, FlavorResourceId};
use kueue_lab_reason::{QuotaField, QuotaLimit, QuotaObject, QuotaShortfall};

impl Engine {
    /// The quota that the pod sets of a decision lack in each flavor that was tried.
    pub(super) fn quota_shortfalls(&self, decision: &Decision) -> Vec<QuotaShortfall> {
        let Some(node) = self.cache.node_of(&decision.cluster_queue) else {
            return Vec::new();
        };
        let mut shortfalls = Vec::new();
        for pod_set in &decision.pod_sets {
            for attempt in pod_set.attempts.iter() {
                let short = attempt.resources.iter();
                for quota in short.filter(|quota| quota.missing.is_positive()) {
                    let frs = &self.cache.hierarchy.frs;
                    let fr = frs.get(&attempt.flavor, quota.resource);
                    let requested = quota.requested.plus(quota.taken_before);
                    let unused = requested > quota.capacity;
                    shortfalls.push(QuotaShortfall {
                        pod_set: pod_set.name.clone(),
                        flavor: attempt.flavor.clone(),
                        resource: quota.resource,
                        requested,
                        available: quota.available,
                        missing: quota.missing,
                        limits: fr.map_or_else(Vec::new, |fr| self.limits(node, fr, unused)),
                    });
                }
            }
        }
        shortfalls
    }

    /// The quota or limit on the path from a ClusterQueue to the root that is reached first, and the lending limits
    /// that withhold unused quota from that Cohort. `without_usage`: that with all quota unused.
    fn limits(
        &self,
        queue: HierarchyNodeId,
        fr: FlavorResourceId,
        without_usage: bool,
    ) -> Vec<QuotaLimit> {
        let hierarchy = &self.cache.hierarchy;
        let available = |node| match without_usage {
            true => hierarchy.potential_available(node, fr),
            false => hierarchy.available(node, fr),
        };
        let local = |node: HierarchyNodeId| {
            let resources = &hierarchy[node].resources;
            match without_usage {
                true => resources.local_quota(fr),
                false => resources.local_available(fr),
            }
        };
        let mut node = queue;
        while let Some(parent) = hierarchy.ancestors(node).next() {
            if let Some(limit) = hierarchy[node].resources.quota(fr).borrowing_limit
                && available(node) < local(node).plus(available(parent))
            {
                return vec![self.limit(node, QuotaField::BorrowingLimit, limit)];
            }
            node = parent;
        }
        let quota = hierarchy[node].resources.subtree_quota(fr);
        let mut limits = vec![self.limit(node, QuotaField::NominalQuota, quota)];
        // Of those below the root, the ones that the ClusterQueue is not below.
        let path: Vec<HierarchyNodeId> = std::iter::once(queue)
            .chain(hierarchy.ancestors(queue))
            .collect();
        for &cohort in path.iter().skip(1) {
            let children = hierarchy.child_cohorts(cohort).iter();
            let children = children.chain(hierarchy.child_queues(cohort));
            for &child in children.filter(|child| !path.contains(child)) {
                if let Some(limit) = hierarchy[child].resources.quota(fr).lending_limit
                    && local(child).is_positive()
                {
                    limits.push(self.limit(child, QuotaField::LendingLimit, limit));
                }
            }
        }
        limits
    }

    fn limit(&self, node: HierarchyNodeId, field: QuotaField, amount: Amount) -> QuotaLimit {
        let node = &self.cache.hierarchy[node];
        QuotaLimit {
            object: match node.kind {
                HierarchyNodeKind::ClusterQueue => QuotaObject::ClusterQueue,
                HierarchyNodeKind::Cohort => QuotaObject::Cohort,
            },
            name: node.name.to_string(),
            field,
            amount,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::config::EngineConfig;
    use crate::engine::test_fixtures::{at, from_json, lab, workload};
    use crate::resources::ResourceFormatter;
    use crate::workload::WorkloadKey;

    /// The shortfalls of a workload of some CPUs in ClusterQueue a, beside one of 25 CPUs in b.
    fn shortfalls(quotas: &[(&str, Value)], cpu: i64) -> Vec<String> {
        let mut engine = lab(EngineConfig::default());
        for (name, quota) in quotas {
            let mut quota = quota.clone();
            quota["name"] = "cpu".into();
            let flavors = json!([{"name": "on-demand", "resources": [quota]}]);
            let cohort = match quota["nominalQuota"] == "7" {
                true => "",
                false => "all",
            };
            let queue = json!({"metadata": {"name": name}, "spec": {
                "cohortName": cohort, "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            }});
            engine.upsert_cluster_queue(from_json(queue), at(0));
        }
        engine.upsert_workload(workload("running", "b", 5, true), at(0));
        engine.upsert_workload(workload("waiting", "a", cpu, false), at(0));
        let key = WorkloadKey::new("ns", "waiting");
        let explained = engine.explain(&key, at(1)).unwrap();
        let texts = explained.shortfalls.iter();
        texts
            .map(|shortfall| shortfall.text(&ResourceFormatter::default()))
            .collect()
    }

    #[test]
    fn the_limit_that_is_reached_first_is_named() {
        assert_eq!(
            shortfalls(&[], 26),
            [
                "cpu in on-demand: asked 26, available 25, 1 missing; quota 30 of Cohort all, its own and lent to it"
            ]
        );
        let borrows = json!({"nominalQuota": "10", "borrowingLimit": "4"});
        assert_eq!(
            shortfalls(&[("a", borrows.clone())], 15),
            [
                "cpu in on-demand: asked 15, available 14, 1 missing; borrowingLimit 4 of ClusterQueue a"
            ]
        );
        let lends = json!({"nominalQuota": "10", "lendingLimit": "3"});
        assert_eq!(
            shortfalls(&[("c", lends)], 19),
            [
                "cpu in on-demand: asked 19, available 18, 1 missing; quota 23 of Cohort all, its own and lent to it; \
              lendingLimit 3 of ClusterQueue c"
            ]
        );
        let alone = json!({"nominalQuota": "7"});
        assert_eq!(
            shortfalls(&[("a", alone)], 8),
            ["cpu in on-demand: asked 8, available 7, 1 missing; nominalQuota 7 of ClusterQueue a"]
        );
    }
}
