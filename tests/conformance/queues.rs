//! Tables of pending workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue, QueueingStrategy, Workload};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::afs::{AfsUsageLedger, UsageLedgerEntry};
use kueue_lab_engine::cache::CohortHierarchy;
use kueue_lab_engine::cluster_objects::ClusterObjects;
use kueue_lab_engine::config::{AdmissionFairSharing, RequeuingTimestamp};
use kueue_lab_engine::kube::pod_requests::exact;
use kueue_lab_engine::queue::{
    OrderContext, PendingClusterQueue, QueueError, QueueManager, QuotaReservedReason,
    RequeueReason, SecondPassQueue, backoff_expired,
};
use kueue_lab_engine::resources::ResourceName;
use kueue_lab_engine::workload::{EquivalenceHash, Info, LocalQueueKey, WorkloadKey, predicates};
use serde_json::{Map, Value, json};

use super::CaseCheck;
use super::case::{Case, read, read_or_default};
use super::compare::{Differences, as_set, compare_part, workloads};
use super::engine_fixture::config;

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("queue/TestAddWorkload", add_workload),
    (
        "queue/TestBackoffWaitingTimeExpired",
        backoff_waiting_time_expired,
    ),
    (
        "queue/TestBestEffortFIFORequeueIfNotPresent",
        requeue_if_not_present,
    ),
    (
        "queue/TestStrictFIFORequeueIfNotPresent",
        requeue_if_not_present,
    ),
    ("queue/TestClusterQueueImpl", cluster_queue_impl),
    ("queue/TestFsAdmission", fs_admission),
    ("queue/TestGetNoFitReason", no_fit_reason),
    ("queue/TestGetPendingWorkloadsInfo", pending_workloads_info),
    ("queue/TestHeads", heads),
    (
        "queue/TestPenaltyBookkeepingIsIdempotentAndExact",
        penalties,
    ),
    (
        "queue/TestPushOrUpdateGenerationChanged",
        push_or_update_generation_changed,
    ),
    (
        "queue/TestPushOrUpdateRespectsInadmissibleHashes",
        push_or_update_respects_inadmissible_hashes,
    ),
    (
        "queue/TestQueueInadmissibleWorkloads",
        queue_inadmissible_workloads,
    ),
    (
        "queue/TestQueueSecondPassIfNeeded",
        queue_second_pass_if_needed,
    ),
    ("queue/TestRecordInadmissibleHash", record_inadmissible_hash),
    (
        "queue/TestRequeueHashTriggerByReason",
        requeue_hash_trigger_by_reason,
    ),
    (
        "queue/TestRequeueWorkloadStrictFIFO",
        requeue_workload_strict_fifo,
    ),
    (
        "queue/TestSnapshotDeterministicOrder",
        snapshot_deterministic_order,
    ),
    ("queue/TestStatus", status),
    ("queue/TestStrictFIFO", strict_fifo),
    ("queue/TestUpdateWorkload", update_workload),
    ("queue/Test_PushOrUpdate", push_or_update),
];

/// Queues and the inputs of their order.
struct QueueFixture {
    config: EngineConfig,
    afs_usage: AfsUsageLedger,
    queues: QueueManager,
    pending: PendingClusterQueue,
    objects: ClusterObjects,
    now: Timestamp,
}

macro_rules! ctx {
    ($bench:expr) => {
        OrderContext {
            config: &$bench.config,
            ledger: &$bench.afs_usage,
        }
    };
}

impl QueueFixture {
    fn new(case: &Case) -> Self {
        let mut objects = ClusterObjects::default();
        for namespace in case.objects::<Namespace>("namespaces") {
            objects.upsert_namespace(&namespace);
        }
        let mut pending = PendingClusterQueue::new();
        let config = config(case);
        let mut queue = case
            .objects::<ClusterQueue>("clusterQueues")
            .first()
            .map_or_else(ClusterQueue::default, |q| ClusterQueue::clone(q));
        queue.spec.queueing_strategy = match case.config["queueingStrategy"].as_str() {
            Some("StrictFIFO") => Some(QueueingStrategy::StrictFIFO),
            Some("BestEffortFIFO") => Some(QueueingStrategy::BestEffortFIFO),
            _ => queue.spec.queueing_strategy,
        };
        pending.update(&queue.spec, &config, true);
        QueueFixture {
            config,
            afs_usage: AfsUsageLedger::default(),
            queues: QueueManager::default(),
            pending,
            objects,
            now: case.now(),
        }
    }

    /// Adds the ClusterQueues and LocalQueues of a case.
    fn with_queues(case: &Case) -> Self {
        let mut bench = QueueFixture::new(case);
        for cq in case.objects::<ClusterQueue>("clusterQueues") {
            bench.queues.add_cluster_queue(&cq, ctx!(bench)).unwrap();
        }
        for lq in case.objects::<LocalQueue>("localQueues") {
            let none = std::iter::empty();
            let (key, queue) = (queue_key(&lq), &lq.spec.cluster_queue);
            let ctx = ctx!(bench);
            let added = bench
                .queues
                .add_local_queue(&key, queue, 1.0, none, &bench.objects, ctx);
            added.unwrap();
        }
        bench
    }

    fn info(&self, wl: &Arc<Workload>) -> Info {
        Info::new(wl.clone(), &self.config)
    }

    fn push(&mut self, wl: &Arc<Workload>) {
        let info = Arc::new(self.info(wl));
        self.pending.push_or_update(info, ctx!(self), self.now);
    }

    fn requeue(&mut self, info: Info, reason: RequeueReason) -> bool {
        let info = Arc::new(info);
        self.pending
            .requeue_if_not_present(info, reason, None, ctx!(self), self.now)
    }

    fn add(&mut self, wl: &Arc<Workload>) -> Result<(), QueueError> {
        self.queues
            .add_or_update_workload(wl, None, ctx!(self), self.now)
    }

    /// The LocalQueue of each workload that has one.
    fn assigned<'a>(&self, list: impl IntoIterator<Item = &'a Arc<Workload>>) -> Value {
        let assigned = list.into_iter().filter_map(|wl| {
            let key = predicates::key(wl);
            Some((
                key.to_string(),
                json!(self.queues.assigned_local_queue(&key)?),
            ))
        });
        Value::Object(assigned.collect::<Map<_, _>>())
    }
}

fn queue_key(lq: &LocalQueue) -> LocalQueueKey {
    LocalQueueKey::new(
        lq.metadata.namespace.as_deref().unwrap_or_default(),
        lq.metadata.name.as_deref().unwrap_or_default(),
    )
}

fn reason(value: &Value) -> RequeueReason {
    match value.as_str().unwrap_or_default() {
        "FailedAfterNomination" => RequeueReason::FailedAfterNomination,
        "NamespaceMismatch" => RequeueReason::NamespaceMismatch,
        "PreemptionGated" => RequeueReason::PreemptionGated,
        "PendingPreemption" => RequeueReason::PendingPreemption,
        "PendingMigration" => RequeueReason::PendingMigration,
        "PreemptionFailed" => RequeueReason::PreemptionFailed,
        "NoFit" => RequeueReason::NoFit,
        "PreemptionNoCandidates" => RequeueReason::PreemptionNoCandidates,
        "" => RequeueReason::Generic,
        other => panic!("no requeue reason {other}"),
    }
}

fn error(result: Result<(), QueueError>) -> Value {
    json!(result.err().map(|e| e.to_string()))
}

fn add_workload(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::with_queues(case);
    let wl = Arc::new(case.object("incoming"));
    let result = bench.add(&wl);
    let got = json!({"assigned": bench.assigned([&wl]), "err": error(result)});
    compare_part("outcome", got, &case.want)
}

fn backoff_waiting_time_expired(case: &Case) -> Result<(), String> {
    let wl: Workload = case.object("incoming");
    let got = json!(backoff_expired(&wl, case.now()));
    compare_part("expired", got, &json!(case.want["value"] == true))
}

fn requeue_if_not_present(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let wl = &case.objects::<Workload>("workloads")[0];
    let mut info = bench.info(wl);
    let progress = &case.config["lastAssignment"];
    if progress.is_object() {
        use kueue_lab_engine::workload::AssignmentClusterQueueState;
        let tried: Vec<BTreeMap<String, i32>> = read_or_default(&progress["lastTriedFlavorIdx"]);
        let tried = tried.iter();
        let tried = tried.map(|m| m.iter().map(|(k, &i)| (k.as_str().into(), i)).collect());
        info.last_assignment = Some(Arc::new(AssignmentClusterQueueState {
            last_tried_flavor_idx: tried.collect(),
            ..Default::default()
        }));
    }
    let key = info.key.clone();
    bench.requeue(info, reason(&case.config["reason"]));
    let mut got = json!({"inadmissible": bench.pending.inadmissible(&key).is_some()});
    let mut want = json!({"inadmissible": case.want["inadmissible"] == true});
    if !case.want["sticky"].is_null() {
        // The sticky workload precedes workloads of higher priority.
        let mut other = Workload::named("other");
        other.spec.priority = Some(1_000_000);
        other.metadata.uid = Some("other".to_owned());
        bench.push(&Arc::new(other));
        let head = bench.pending.pop(ctx!(bench)).map(|i| i.key.clone());
        got["sticky"] = json!(head == Some(key));
        want["sticky"] = json!(case.want["sticky"] == true);
    }
    compare_part("outcome", got, &want)
}

fn cluster_queue_impl(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    for wl in case.objects("workloadsToAdd") {
        bench.push(&wl);
    }
    let listed = |key: &str| -> Vec<Arc<Workload>> {
        let list: Vec<Value> = read_or_default(&case.config[key]);
        list.iter().map(|v| Arc::new(read(&v["obj"]))).collect()
    };
    for wl in listed("inadmissibleWorkloadsToRequeue") {
        let info = bench.info(&wl);
        bench.requeue(info, RequeueReason::Generic);
    }
    for wl in listed("admissibleWorkloadsToRequeue") {
        let info = bench.info(&wl);
        bench.requeue(info, RequeueReason::FailedAfterNomination);
    }
    for wl in case.objects("workloadsToUpdate") {
        bench.push(&wl);
    }
    for wl in case.objects::<Workload>("workloadsToDelete") {
        bench.pending.delete(&predicates::key(&wl), ctx!(bench));
    }
    let mut found = Differences::default();
    if case.config["queueInadmissibleWorkloads"] == true {
        let moved = bench
            .pending
            .requeue_inadmissible(&bench.objects, ctx!(bench), bench.now);
        let want = case.want["inadmissibleWorkloadsRequeued"]
            .as_u64()
            .unwrap_or(0);
        found.part("moved", &(moved as u64), &want);
    }
    let active = json!(bench.pending.active_keys());
    found.part("active", &active, &as_set(&case.want["activeWorkloads"]));
    let (active, inadmissible) = bench.pending.counts();
    let want = case.want["pending"].as_u64().unwrap_or(0);
    found.part("pending", &((active + inadmissible) as u64), &want);
    found.finish()
}

fn fs_admission(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let afs = &case.config["afsConfig"];
    let weights: BTreeMap<String, f64> = read_or_default(&afs["resourceWeights"]);
    bench.config.admission_fair_sharing = afs.is_object().then(|| AdmissionFairSharing {
        resource_weights: weights
            .iter()
            .map(|(k, &w)| (k.as_str().into(), w))
            .collect(),
        ..Default::default()
    });
    let used: BTreeMap<String, _> = read_or_default(&case.config["initConsumedResources"]);
    for (queue, list) in &used {
        let entry = UsageLedgerEntry::new(exact(list), bench.now, true);
        bench.afs_usage.set(LocalQueueKey::parse(queue), entry);
    }
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    bench.pending.update(&queue.spec, &bench.config, true);
    for lq in case.objects::<LocalQueue>("localQueues") {
        let weight = kueue_lab_engine::afs::local_queue_weight(&lq);
        bench
            .pending
            .set_weight(&queue_key(&lq), weight, ctx!(bench));
    }
    for wl in case.objects("workloads") {
        bench.push(&wl);
    }
    let head = bench
        .pending
        .pop(ctx!(bench))
        .map(|i| Workload::clone(&i.obj));
    let want: Workload = read(&case.want["wl"]);
    compare_part("head", workloads(head.as_ref()), &workloads([&want]))
}

fn quota_reason(value: &Value) -> Option<QuotaReservedReason> {
    use QuotaReservedReason as Q;
    let all = [
        Q::NoMatchingFlavor,
        Q::ExceedsMaxQuota,
        Q::WaitingForQuota,
        Q::TopologyPlacementFailed,
        Q::WaitingForPreemptedWorkloads,
        Q::Misconfigured,
        Q::Suspended,
        Q::PendingEvaluation,
        Q::WaitingForPodsReady,
        Q::AdmissionGated,
    ];
    all.into_iter().find(|r| Some(r.as_str()) == value.as_str())
}

fn with_hash(mut info: Info, name: &str) -> Info {
    let sum = name
        .bytes()
        .fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
    info.scheduling_hash = match name {
        "" => EquivalenceHash::Unknown,
        _ => EquivalenceHash::Known(sum),
    };
    info
}

fn no_fit_reason(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let mut queue = ClusterQueue::default();
    queue.spec.queueing_strategy = Some(QueueingStrategy::BestEffortFIFO);
    bench.pending.update(&queue.spec, &bench.config, true);
    let info = with_hash(bench.info(&Arc::new(Workload::named("wl"))), "test-hash");
    let key = info.key.clone();
    let why = reason(&case.config["requeueReason"]);
    let quota = quota_reason(&case.config["conditionReason"]);
    let ctx = ctx!(bench);
    bench
        .pending
        .requeue_if_not_present(Arc::new(info), why, quota, ctx, bench.now);
    if case.config["deleteFromInadmissible"] == true {
        bench.pending.delete(&key, ctx!(bench));
    }
    let got = bench.pending.no_fit_reason(&key);
    let got = json!({"ok": got.is_some(), "reason": got.map_or("", |r| r.as_str())});
    let want = json!({"ok": case.want["ok"] == true, "reason": case.want["reason"]});
    compare_part("reason", got, &want)
}

fn pending_workloads_info(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::with_queues(case);
    for wl in case.objects("workloads") {
        let _ = bench.add(&wl);
    }
    let name = case.config["cqName"].as_str().unwrap();
    let pending = bench
        .queues
        .cluster_queue(name)
        .map(|p| p.in_order(ctx!(bench)));
    let names = pending.iter().flatten().map(|i| i.key.name().to_owned());
    compare_part(
        "order",
        json!(names.collect::<Vec<_>>()),
        &case.want["pendingWorkloads"],
    )
}

fn heads(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::with_queues(case);
    let list = case.objects::<Workload>("workloads");
    for wl in &list {
        let _ = bench.add(wl);
    }
    let inactive = case.config.get("inactiveClusterQueues").is_some();
    let active = |name: &str| !(inactive && name.starts_with("pending-"));
    let heads = bench.queues.heads(active, ctx!(bench));
    let names: Vec<Value> = heads.iter().map(|h| json!(h.info.key.name())).collect();
    let mut found = Differences::default();
    found.part(
        "heads",
        &as_set(&json!(names)),
        &as_set(&case.want["heads"]),
    );
    found.part("assigned", &bench.assigned(&list), &case.want["assigned"]);
    found.finish()
}

fn penalties(case: &Case) -> Result<(), String> {
    let mut ledger = AfsUsageLedger::default();
    let queue = LocalQueueKey::parse(case.config["localQueue"].as_str().unwrap());
    let ops: Vec<Value> = read(&case.config["ops"]);
    for op in ops {
        let wl = WorkloadKey::parse(op["wl"].as_str().unwrap());
        if op["push"].is_object() {
            ledger.push_penalty(&queue, &wl, exact(&read(&op["push"])), case.now());
        } else {
            ledger.remove_penalty(&queue, &wl);
        }
    }
    let pending = ledger.get(&queue).map(|e| e.pending_penalty().clone());
    let pending = pending.unwrap_or_default();
    // As upstream: only the resources wanted are compared, and an absent one reads as 0.
    let wanted: Map<String, Value> = read_or_default(&case.want["milli"]);
    let milli = wanted.keys().map(|name| {
        let quantity = pending.get(&ResourceName::new(name));
        (name.clone(), json!(quantity.map_or(0, |q| q.milli_value())))
    });
    let got = json!({
        "has": ledger.has_pending_penalty(&queue),
        "milli": milli.collect::<Map<_, _>>(),
    });
    let want = json!({"has": case.want["has"] == true, "milli": wanted});
    compare_part("penalties", got, &want)
}

fn counts(pending: &PendingClusterQueue) -> Value {
    let (active, inadmissible) = pending.counts();
    json!({"active": active, "inadmissible": inadmissible})
}

fn want_counts(case: &Case, active: &str, inadmissible: &str) -> Value {
    let n = |key: &str| case.want[key].as_u64().unwrap_or(0);
    json!({"active": n(active), "inadmissible": n(inadmissible)})
}

fn push_or_update_generation_changed(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    bench.push(&case.objects("workloads")[0]);
    let popped = bench.pending.pop(ctx!(bench)).ok_or("nothing to pop")?;
    let updated = Arc::new(case.object("updatedWorkload"));
    let mut info = bench.info(&updated);
    info.last_evaluated_generation = popped.last_evaluated_generation;
    bench.requeue(info, RequeueReason::Generic);
    bench.push(&updated);
    let want = want_counts(case, "activeWorkloads", "inadmissibleWorkloads");
    compare_part("counts", counts(&bench.pending), &want)
}

fn push_or_update_respects_inadmissible_hashes(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let hashes: Vec<String> = read_or_default(&case.config["inadmissibleHashes"]);
    for hash in &hashes {
        let hash = with_hash(bench.info(&Arc::default()), hash).scheduling_hash;
        bench
            .pending
            .mark_hash_inadmissible(hash, None, ctx!(bench));
    }
    let info = bench.info(&Arc::new(Workload::named("wl")));
    let info = with_hash(info, case.config["pushHash"].as_str().unwrap());
    bench
        .pending
        .push_or_update(Arc::new(info), ctx!(bench), bench.now);
    compare_part(
        "counts",
        counts(&bench.pending),
        &want_counts(case, "active", "inadmissible"),
    )
}

fn queue_inadmissible_workloads(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::with_queues(case);
    let mut hierarchy = CohortHierarchy::default();
    let mut nodes = BTreeMap::new();
    for cq in case.objects::<ClusterQueue>("clusterQueues") {
        let name = cq.metadata.name.clone().unwrap();
        let node = hierarchy.insert_cluster_queue(&name);
        hierarchy.set_parent(node, &cq.spec.cohort_name);
        nodes.insert(name, node);
    }
    for cohort in case.objects::<kueue_lab_api::v1beta2::Cohort>("cohorts") {
        let node = hierarchy.insert_cohort(cohort.metadata.name.as_deref().unwrap());
        hierarchy.set_parent(node, &cohort.spec.parent_name);
    }
    // Namespaces are not listed: the workloads' namespaces exist.
    for wl in case.objects::<Workload>("workloads") {
        let mut namespace = Namespace::default();
        namespace.metadata.name.clone_from(&wl.metadata.namespace);
        bench.objects.upsert_namespace(&namespace);
        let (name, _) = bench
            .queues
            .cluster_queue_of(&predicates::local_queue_key(&wl))
            .unwrap();
        let name = name.clone();
        let info = bench.info(&wl);
        let pending = bench.queues.cluster_queue_mut(&name).unwrap();
        pending.pop(ctx!(bench));
        let why = RequeueReason::Generic;
        pending.requeue_if_not_present(Arc::new(info), why, None, ctx!(bench), bench.now);
    }
    let names: Vec<Arc<str>> = nodes.keys().map(|n| n.as_str().into()).collect();
    let node_of = |name: &str| nodes.get(name).copied();
    bench
        .queues
        .notify_retry_inadmissible(&names, node_of, &hierarchy, bench.now);
    let later = bench.now + jiff::SignedDuration::from_secs(1);
    let mut moved = 0;
    for target in bench.queues.take_due_requeue_requests(later) {
        let ctx = ctx!(bench);
        moved += bench
            .queues
            .requeue_inadmissible(&target, &hierarchy, &bench.objects, ctx, later);
    }
    let (mut active, mut inadmissible) = (Map::new(), Map::new());
    for name in &names {
        let pending = bench.queues.cluster_queue(name).unwrap();
        active.insert(name.to_string(), json!(pending.active_keys()));
        inadmissible.insert(name.to_string(), json!(pending.inadmissible_keys()));
    }
    let mut found = Differences::default();
    found.part("active", &active, &case.want["active"]);
    found.part("inadmissible", &inadmissible, &case.want["inadmissible"]);
    found.part(
        "moved",
        &moved,
        &(case.want["movedCount"].as_u64().unwrap_or(0) as usize),
    );
    found.finish()
}

fn queue_second_pass_if_needed(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut second = SecondPassQueue::default();
    let mut now = case.now();
    for wl in case.objects("workloads") {
        second.queue_if_needed(&wl, 0, now);
    }
    let mut found = Differences::default();
    if case.want["updateQueued"].is_boolean() {
        let wl = Arc::new(case.object("updateWorkload"));
        let queued = second.queue_if_needed(&wl, 1, now);
        found.part("queued", &queued, &case.want["updateQueued"]);
    }
    if case.config["passTime"] == "1s" {
        now += jiff::SignedDuration::from_secs(1);
    }
    second.advance(now, &config);
    let ready: BTreeSet<String> = second
        .take_all_ready()
        .iter()
        .map(|i| i.key.to_string())
        .collect();
    found.part("ready", &ready, &as_set(&case.want["ready"]));
    found.finish()
}

fn record_inadmissible_hash(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let heap: BTreeMap<String, String> = read(&case.config["heapWorkloads"]);
    for (name, hash) in &heap {
        let info = with_hash(bench.info(&Arc::new(Workload::named(name))), hash);
        bench
            .pending
            .push_or_update(Arc::new(info), ctx!(bench), bench.now);
    }
    let hash = case.config["hashToRecord"].as_str().unwrap_or_default();
    let hash = with_hash(bench.info(&Arc::default()), hash).scheduling_hash;
    let moved = bench
        .pending
        .mark_hash_inadmissible(hash, None, ctx!(bench));
    let mut got = counts(&bench.pending);
    got["moved"] = json!(moved);
    let mut want = want_counts(case, "active", "inadmissible");
    want["moved"] = json!(case.want["moved"].as_u64().unwrap_or(0));
    compare_part("counts", got, &want)
}

fn requeue_hash_trigger_by_reason(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let info = with_hash(bench.info(&Arc::new(Workload::named("wl"))), "hash");
    bench.requeue(info, reason(&case.config["reason"]));
    let twin = with_hash(bench.info(&Arc::new(Workload::named("twin"))), "hash");
    let key = twin.key.clone();
    bench
        .pending
        .push_or_update(Arc::new(twin), ctx!(bench), bench.now);
    let got = json!(bench.pending.inadmissible(&key).is_some());
    compare_part("parks", got, &json!(case.want["hash"] == true))
}

fn requeue_workload_strict_fifo(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::with_queues(case);
    let wl: Arc<Workload> = Arc::new(case.object("incoming"));
    if case.config["inQueue"] == true {
        let _ = bench.add(&wl);
    }
    let latest = (case.config["inClient"] == true).then_some(&wl);
    let mut info = bench.info(&wl);
    let why = RequeueReason::Generic;
    let ctx = ctx!(bench);
    let objects = &bench.objects;
    let got = bench
        .queues
        .requeue_workload(&mut info, latest, why, None, objects, ctx, bench.now);
    compare_part(
        "requeued",
        json!(got),
        &json!(case.want["requeued"] == true),
    )
}

fn snapshot_deterministic_order(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    for wl in case.objects("workloads") {
        bench.push(&wl);
    }
    for wl in case.objects("inadmissibleWorkloads") {
        let info = bench.info(&wl);
        bench.requeue(info, RequeueReason::Generic);
    }
    let order = || -> Vec<String> {
        let order = bench.pending.in_order(ctx!(bench));
        order.iter().map(|i| i.key.to_string()).collect()
    };
    let first = order();
    let same = (0..10).all(|_| order() == first);
    compare_part(
        "order",
        json!(same),
        &json!(case.want["sameOrderOnEveryCall"] == true),
    )
}

fn status(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::with_queues(case);
    for wl in case.objects("workloads") {
        let _ = bench.add(&wl);
    }
    let lq: LocalQueue = read(&case.config["queriedLocalQueue"]);
    let state = bench.queues.local_queue(&queue_key(&lq));
    let missing = QueueError::LocalQueueDoesNotExistOrInactive;
    let got = json!({
        "status": state.map_or(0, |s| s.pending()),
        "err": state.is_none().then(|| missing.to_string()),
    });
    let want =
        json!({"status": case.want["status"].as_u64().unwrap_or(0), "err": case.want["err"]});
    compare_part("status", got, &want)
}

fn strict_fifo(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let timestamp = &case.config["workloadOrdering"]["podsReadyRequeuingTimestamp"];
    bench.config.requeuing_timestamp = match timestamp.as_str() {
        Some("Creation") => RequeuingTimestamp::Creation,
        _ => RequeuingTimestamp::Eviction,
    };
    for wl in case.objects("workloads") {
        bench.push(&wl);
    }
    let head = bench.pending.pop(ctx!(bench));
    compare_part(
        "head",
        json!(head.map(|i| i.key.name().to_owned())),
        &case.want["head"],
    )
}

fn update_workload(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::with_queues(case);
    let list = case.objects::<Workload>("workloads");
    for wl in &list {
        let _ = bench.add(wl);
    }
    let mut found = Differences::default();
    found.part(
        "assigned before",
        &bench.assigned(&list),
        &case.config["assigned"],
    );
    let updated = Arc::new(case.object("updatedWorkload"));
    let result = bench.add(&updated);
    found.part("error", &error(result), &case.want["err"]);
    let mut members = Map::new();
    for lq in case.objects::<LocalQueue>("localQueues") {
        let key = queue_key(&lq);
        let state = bench.queues.local_queue(&key).unwrap();
        members.insert(key.to_string(), json!(state.keys().collect::<Vec<_>>()));
    }
    found.part("members", &members, &case.want["queueMembers"]);
    let mut order = Map::new();
    for cq in case.objects::<ClusterQueue>("clusterQueues") {
        let name = cq.metadata.name.clone().unwrap();
        let mut popped = Vec::new();
        while let Some(info) = bench
            .queues
            .cluster_queue_mut(&name)
            .unwrap()
            .pop(ctx!(bench))
        {
            popped.push(json!(info.key));
        }
        order.insert(name, json!(popped));
    }
    found.part("order", &order, &case.want["queueOrder"]);
    found.part("assigned", &bench.assigned(&list), &case.want["assigned"]);
    found.finish()
}

fn push_or_update(case: &Case) -> Result<(), String> {
    let mut bench = QueueFixture::new(case);
    let wl = &case.objects::<Workload>("workloads")[0];
    bench.push(wl);
    let mut again = Workload::clone(wl);
    again.metadata.resource_version = Some("1".to_owned());
    bench.push(&Arc::new(again));
    let popped = bench
        .pending
        .pop(ctx!(bench))
        .map(|i| Workload::clone(&i.obj));
    let mut found = Differences::default();
    let want: Option<Workload> = read(&case.want["popped"]);
    found.part(
        "popped",
        &workloads(popped.as_ref()),
        &workloads(want.as_ref()),
    );
    let inadmissible = json!(bench.pending.inadmissible_keys());
    found.part(
        "inadmissible",
        &inadmissible,
        &as_set(&case.want["inadmissible"]),
    );
    found.finish()
}
