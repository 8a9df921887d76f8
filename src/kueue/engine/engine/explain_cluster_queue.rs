//! [`ClusterQueueExplanation`]: the quota of a ClusterQueue, the workloads that reserve it, and the
//! pending workloads.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Engine, Explanation};
use crate::cache::{ActiveCondition, CachedWorkload, HierarchyNodeId};
use crate::resources::{Amount, FlavorName, FlavorResourceId};
use crate::workload::WorkloadKey;
use kueue_lab_api::v1beta2::ClusterQueue;

/// The state of a ClusterQueue. Amounts are quantities.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueExplanation {
    /// The ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// Its path from the root cohort.
    pub path: String,
    /// Its Active condition.
    pub active: ActiveCondition,
    /// The Cohorts of the cycle that it is in or below, each followed by its parent. As long as
    /// there is one, the ClusterQueue is inactive, regardless of its Active condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cohort_cycle: Option<CohortCycle>,
    /// Its weighted share, with fair sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted_share: Option<i64>,
    /// Its quota, by flavor and resource.
    pub quotas: Vec<ExplainedQuota>,
    /// The quota of its cohort and of the cohorts above, by flavor and resource.
    pub cohorts: Vec<CohortQuota>,
    /// The workloads that reserve its quota, in order of their reservation.
    pub holders: Vec<QuotaHolder>,
    /// The other ClusterQueues of the cohorts that borrow its flavors.
    pub borrowers: Vec<Borrower>,
    /// Its pending workloads, in order.
    pub pending: Vec<PendingInQueue>,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Explanation>,
}

/// Cohorts in a cycle, each followed by its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CohortCycle(Vec<Arc<str>>);

impl std::fmt::Display for CohortCycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.iter().chain(self.0.first());
        let names: Vec<&str> = names.map(|name| &**name).collect();
        write!(f, "the cohort has a cycle: {}", names.join(" -> "))
    }
}

/// The quota of a ClusterQueue for a resource of a flavor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedQuota {
    /// The flavor.
    pub flavor: FlavorName,
    /// The resource.
    pub resource: String,
    /// The nominal quota.
    pub nominal: String,
    /// The maximum quota above nominal that may be borrowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowing_limit: Option<String>,
    /// The maximum nominal quota that may be lent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lending_limit: Option<String>,
    /// The reserved quota.
    pub used: String,
    /// The part of it above nominal.
    pub borrowed: String,
    /// The unused nominal quota that is not available, because other ClusterQueues borrow it.
    pub lent: String,
    /// The quota that can be reserved now without preemption.
    pub available: String,
    /// The quota that can be reserved without any usage.
    pub maximum: String,
}

/// The quota of a cohort for a resource of a flavor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CohortQuota {
    /// The cohort.
    pub cohort: Arc<str>,
    /// The flavor.
    pub flavor: FlavorName,
    /// The resource.
    pub resource: String,
    /// The nominal quota of the cohort itself.
    pub nominal: String,
    /// Its nominal quota and what is lent to it.
    pub quota: String,
    /// The usage of this quota.
    pub used: String,
}

/// A workload that reserves quota.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaHolder {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its priority.
    pub priority: i64,
    /// The quota it reserves, by flavor and resource.
    pub usage: BTreeMap<FlavorName, BTreeMap<String, String>>,
    /// Whether it is admitted.
    pub admitted: bool,
    /// Whether it is being evicted.
    pub evicted: bool,
    /// The time at which it reserved quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_at: Option<Timestamp>,
}

/// A ClusterQueue that uses more than its nominal quota.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Borrower {
    /// The ClusterQueue.
    pub cluster_queue: Arc<str>,
    /// The flavor.
    pub flavor: FlavorName,
    /// The resource.
    pub resource: String,
    /// The usage above nominal.
    pub borrowed: String,
}

/// A pending workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingInQueue {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its priority.
    pub priority: i64,
    /// Its requests.
    pub requests: BTreeMap<String, String>,
}

impl Engine {
    /// Explains a ClusterQueue, without side effects; `None` if it does not exist. Its first
    /// pending workload is decided on as if it were the only head of a cycle.
    pub fn explain_cluster_queue(
        &mut self,
        name: &str,
        now: Timestamp,
    ) -> Option<ClusterQueueExplanation> {
        let spec = self.cluster_queue(name)?.clone();
        let usage = self.cluster_queue_usage(name).ok()?;
        let node = self.cache.node_of(name)?;
        let pending = self.pending_in_queue(name);
        let head = pending.first().map(|first| first.workload.clone());
        let head = head.and_then(|head| self.explain(&head, now));
        let flavor_resources = self.flavor_resources(&spec);
        Some(ClusterQueueExplanation {
            cluster_queue: name.into(),
            path: self.cache.cluster_queue_path(node),
            active: self.active_condition(name),
            cohort_cycle: self.cohort_cycle(name),
            weighted_share: usage.weighted_share,
            quotas: flavor_resources
                .iter()
                .map(|fr| self.explained_quota(node, *fr))
                .collect(),
            cohorts: self.cohort_quotas(node, &flavor_resources),
            holders: self.quota_holders(name),
            borrowers: self.borrowers(node, &flavor_resources),
            pending,
            head,
        })
    }

    /// The cycle of Cohorts that a ClusterQueue is in or below.
    pub fn cohort_cycle(&self, queue: &str) -> Option<CohortCycle> {
        let hierarchy = &self.cache.hierarchy;
        let node = self.cache.node_of(queue)?;
        let mut at = hierarchy
            .parent(node)
            .filter(|_| hierarchy.has_cycle(node))?;
        let mut path = Vec::new();
        while !path.contains(&at) {
            path.push(at);
            at = hierarchy.parent(at)?;
        }
        let cycle = path.into_iter().skip_while(|cohort| *cohort != at);
        let names = cycle.map(|cohort| hierarchy[cohort].name.clone());
        Some(CohortCycle(names.collect()))
    }

    /// The flavor resources of a ClusterQueue in the order of its spec.
    fn flavor_resources(&self, queue: &ClusterQueue) -> Vec<FlavorResourceId> {
        let groups = queue.spec.resource_groups.iter();
        let flavors = groups.flat_map(|group| &group.flavors);
        let pairs = flavors.flat_map(|f| f.resources.iter().map(move |r| (&f.name, &r.name)));
        let table = &self.cache.hierarchy.frs;
        pairs
            .filter_map(|(flavor, resource)| table.get(flavor, resource.as_str().into()))
            .collect()
    }

    fn text(&self, fr: FlavorResourceId, amount: Amount) -> String {
        let resource = self.cache.hierarchy.frs.resource(fr);
        self.config.formatter.amount_text(resource, amount)
    }

    fn names(&self, fr: FlavorResourceId) -> (FlavorName, String) {
        let pair = self.cache.hierarchy.frs.pair(fr);
        (pair.flavor.clone(), pair.resource.as_str().to_owned())
    }

    fn explained_quota(&self, node: HierarchyNodeId, fr: FlavorResourceId) -> ExplainedQuota {
        let hierarchy = &self.cache.hierarchy;
        let quota = hierarchy[node].resources.quota(fr);
        let used = hierarchy[node].resources.usage(fr);
        let available = hierarchy.available(node, fr).or_zero();
        let unused = quota.nominal.minus(used).or_zero();
        let borrowed = match hierarchy.has_parent(node) {
            true => used.minus(quota.nominal).or_zero(),
            false => Amount::ZERO,
        };
        let text = |amount| self.text(fr, amount);
        let (flavor, resource) = self.names(fr);
        ExplainedQuota {
            flavor,
            resource,
            nominal: text(quota.nominal),
            borrowing_limit: quota.borrowing_limit.map(text),
            lending_limit: quota.lending_limit.map(text),
            used: text(used),
            borrowed: text(borrowed),
            lent: text(unused.minus(available).or_zero()),
            available: text(available),
            maximum: text(hierarchy.potential_available(node, fr)),
        }
    }

    fn cohort_quotas(&self, node: HierarchyNodeId, frs: &[FlavorResourceId]) -> Vec<CohortQuota> {
        let hierarchy = &self.cache.hierarchy;
        let all = hierarchy.ancestors(node).flat_map(|cohort| {
            let name = &hierarchy[cohort].name;
            let resources = &hierarchy[cohort].resources;
            frs.iter().map(move |&fr| {
                let (flavor, resource) = self.names(fr);
                CohortQuota {
                    cohort: name.clone(),
                    flavor,
                    resource,
                    nominal: self.text(fr, resources.quota(fr).nominal),
                    quota: self.text(fr, resources.subtree_quota(fr)),
                    used: self.text(fr, resources.usage(fr)),
                }
            })
        });
        all.collect()
    }

    fn quota_holders(&self, queue: &str) -> Vec<QuotaHolder> {
        let reserving = self.cache.cluster_queue(queue);
        let reserving = reserving.iter().flat_map(|q| q.reserving_workloads());
        let cached = reserving.filter_map(|wl| self.cache.workload(wl.idx));
        let mut holders: Vec<QuotaHolder> = cached.map(|wl| self.quota_holder(wl)).collect();
        holders.sort_by(|a, b| (a.reserved_at, &a.workload).cmp(&(b.reserved_at, &b.workload)));
        holders
    }

    fn quota_holder(&self, cached: &CachedWorkload) -> QuotaHolder {
        let mut usage: BTreeMap<FlavorName, BTreeMap<String, String>> = BTreeMap::new();
        for (fr, amount) in cached.usage.iter() {
            let (flavor, resource) = self.names(fr);
            let of_flavor = usage.entry(flavor).or_default();
            of_flavor.insert(resource, self.text(fr, amount));
        }
        QuotaHolder {
            workload: cached.info.key.clone(),
            priority: cached.info.priority,
            usage,
            admitted: cached.admitted,
            evicted: cached.evicted,
            reserved_at: cached.reserved_at,
        }
    }

    fn borrowers(&self, node: HierarchyNodeId, frs: &[FlavorResourceId]) -> Vec<Borrower> {
        let hierarchy = &self.cache.hierarchy;
        if hierarchy.ancestors(node).next().is_none() {
            return Vec::new();
        }
        let others = hierarchy.subtree_queues(hierarchy.root(node)).into_iter();
        let all = others.filter(|&other| other != node).flat_map(|other| {
            let (name, resources) = (&hierarchy[other].name, &hierarchy[other].resources);
            frs.iter().filter_map(move |&fr| {
                let borrowed = resources.usage(fr).minus(resources.quota(fr).nominal);
                let (flavor, resource) = self.names(fr);
                borrowed.is_positive().then(|| Borrower {
                    cluster_queue: name.clone(),
                    flavor,
                    resource,
                    borrowed: self.text(fr, borrowed),
                })
            })
        });
        all.collect()
    }

    fn pending_in_queue(&self, queue: &str) -> Vec<PendingInQueue> {
        let Some(pending) = self.queues.cluster_queue(queue) else {
            return Vec::new();
        };
        let all = pending.in_order(self.order_context()).into_iter();
        let all = all.map(|info| {
            let mut totals = BTreeMap::new();
            for (resource, amount) in info.total_requests.iter().flat_map(|ps| ps.requests.iter()) {
                let total: &mut i64 = totals.entry(resource.as_str()).or_default();
                *total = total.saturating_add(amount);
            }
            let text = |(name, total): (&str, i64)| {
                let text = self.config.formatter.text(name.into(), total);
                (name.to_owned(), text)
            };
            PendingInQueue {
                workload: info.key.clone(),
                priority: info.priority,
                requests: totals.into_iter().map(text).collect(),
            }
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::EngineConfig;
    use crate::engine::test_fixtures::{at, from_json, lab, workload};
    use crate::engine::{DeletedObject, EngineObject, ObjectChange};
    use crate::engine::{Engine, PendingVerdictKind};
    use crate::workload::WorkloadKey;

    /// Adds Cohorts in a cycle: the parent of `all` is `x`, and that of `x` is `y`, which has the
    /// parent `x`.
    fn add_cycle(engine: &mut Engine) {
        for (name, parent) in [("all", "x"), ("x", "y"), ("y", "x")] {
            let cohort = json!({"metadata": {"name": name}, "spec": {"parentName": parent}});
            engine.apply(
                ObjectChange::Upsert(EngineObject::Cohort(from_json(cohort))),
                at(0),
            );
        }
    }

    #[test]
    fn a_cycle_of_cohorts_is_named_as_the_reason_for_an_inactive_queue() {
        let cycle = "the cohort has a cycle: x -> y -> x";
        // ClusterQueues of before the cycle, and of after it, as they are read from a cluster.
        let before = {
            let mut engine = lab(EngineConfig::default());
            add_cycle(&mut engine);
            engine
        };
        let after = {
            let mut engine = before.clone();
            let queue = engine.cluster_queue("a").unwrap().clone();
            engine.apply(
                ObjectChange::Delete(DeletedObject::ClusterQueue("a".to_owned())),
                at(0),
            );
            engine.apply(ObjectChange::upsert(queue), at(0));
            engine
        };
        for mut engine in [before, after] {
            engine.apply(
                ObjectChange::upsert(workload("waiting", "a", 1, false)),
                at(0),
            );
            let queue = engine.explain_cluster_queue("a", at(1)).unwrap();
            assert_eq!(queue.cohort_cycle.unwrap().to_string(), cycle);
            let key = WorkloadKey::new("ns", "waiting");
            let verdict = engine.explain(&key, at(1)).unwrap().verdict.unwrap();
            assert_eq!(
                verdict.to_string(),
                format!("held: ClusterQueue a is inactive: {cycle}")
            );
        }
        let mut engine = lab(EngineConfig::default());
        assert_eq!(
            engine
                .explain_cluster_queue("a", at(1))
                .unwrap()
                .cohort_cycle,
            None
        );
    }

    #[test]
    fn borrowed_and_lent_quota_and_their_holders_are_named() {
        let mut engine = lab(EngineConfig::default());
        engine.apply(
            ObjectChange::upsert(workload("large", "a", 25, true)),
            at(0),
        );
        engine.apply(
            ObjectChange::upsert(workload("first", "b", 8, false)),
            at(0),
        );
        engine.apply(
            ObjectChange::upsert(workload("second", "b", 9, false)),
            at(0),
        );
        let borrowing = engine.explain_cluster_queue("a", at(1)).unwrap();
        assert_eq!(borrowing.path, "/all/a");
        let quota = &borrowing.quotas[1];
        assert_eq!(
            (&*quota.flavor, quota.nominal.as_str()),
            ("on-demand", "10")
        );
        assert_eq!((quota.used.as_str(), quota.borrowed.as_str()), ("25", "15"));
        assert_eq!((quota.lent.as_str(), quota.available.as_str()), ("0", "5"));
        assert_eq!(quota.maximum, "30");
        assert_eq!(borrowing.holders[0].usage["on-demand"]["cpu"], "25");
        assert!(borrowing.borrowers.is_empty() && borrowing.head.is_none());

        let lending = engine.explain_cluster_queue("b", at(1)).unwrap();
        let quota = &lending.quotas[1];
        assert_eq!((quota.used.as_str(), quota.lent.as_str()), ("0", "5"));
        assert_eq!(quota.available, "5");
        assert_eq!(&*lending.borrowers[0].cluster_queue, "a");
        assert_eq!(lending.borrowers[0].borrowed, "15");
        let cohort = lending.cohorts.iter().find(|c| &*c.flavor == "on-demand");
        let cohort = cohort.unwrap();
        assert_eq!((cohort.quota.as_str(), cohort.used.as_str()), ("30", "25"));
        let pending: Vec<&str> = lending
            .pending
            .iter()
            .map(|p| p.workload.as_str())
            .collect();
        assert_eq!(pending, ["ns/first", "ns/second"]);
        let head = lending.head.unwrap();
        assert_eq!(head.workload.as_str(), "ns/first");
        assert_eq!(head.verdict.unwrap().kind, PendingVerdictKind::Waits);
        assert!(engine.explain_cluster_queue("other", at(1)).is_none());
    }
}
