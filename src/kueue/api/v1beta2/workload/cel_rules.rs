//! The CEL rules of changes of a workload with quota reservation; the wording is upstream's.

type Rule = (&'static str, &'static str);

const ASSIGNMENTS: Rule = (
    "has(self.status) && has(self.status.conditions) && self.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True') && has(self.status.admission) ? size(self.spec.podSets) == size(self.status.admission.podSetAssignments) : true",
    "podSetAssignments must have the same number of podSets as the spec",
);

const PRIORITY_CLASS_REMOVED: Rule = (
    "(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')) ? (!has(oldSelf.spec.priorityClassRef) && !has(self.spec.priorityClassRef)) || (has(oldSelf.spec.priorityClassRef) && has(self.spec.priorityClassRef)) : true",
    "priorityClassRef is immutable while workload quota reserved",
);

const PRIORITY_CLASS_GROUP: Rule = (
    "(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True') && has(oldSelf.spec.priorityClassRef) && has(self.spec.priorityClassRef)) ? oldSelf.spec.priorityClassRef.group == self.spec.priorityClassRef.group : true",
    "priorityClassRef.group is immutable while workload quota reserved",
);

const PRIORITY_CLASS_KIND: Rule = (
    "(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True') && has(oldSelf.spec.priorityClassRef) && has(self.spec.priorityClassRef)) ? oldSelf.spec.priorityClassRef.kind == self.spec.priorityClassRef.kind : true",
    "priorityClassRef.kind is immutable while workload quota reserved",
);

const PRIORITY_CLASS_NAME: Rule = (
    "(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True') && has(oldSelf.spec.priorityClassRef) && has(self.spec.priorityClassRef) && self.spec.priorityClassRef.group == 'scheduling.k8s.io' && self.spec.priorityClassRef.kind == 'PriorityClass') ? oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name : true",
    "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
);

const QUEUE_NAME: Rule = (
    "((has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')) && (has(self.status) && has(self.status.conditions) && self.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True'))) ? ((has(oldSelf.spec.queueName) == has(self.spec.queueName)) && (!has(oldSelf.spec.queueName) || oldSelf.spec.queueName == self.spec.queueName)) : true",
    "queueName is immutable while workload quota reserved",
);

const EXECUTION_TIME: Rule = (
    "((has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Admitted' && c.status == 'True')) && (has(self.status) && has(self.status.conditions) && self.status.conditions.exists(c, c.type == 'Admitted' && c.status == 'True')))?((has(oldSelf.spec.maximumExecutionTimeSeconds)?oldSelf.spec.maximumExecutionTimeSeconds:0) ==  (has(self.spec.maximumExecutionTimeSeconds)?self.spec.maximumExecutionTimeSeconds:0)):true",
    "maximumExecutionTimeSeconds is immutable while workload quota reserved",
);

#[cfg(test)]
const V1BETA1_PRIORITY_CLASS_SOURCE: Rule = (
    "(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True') && has(oldSelf.spec.priorityClassSource) && has(self.spec.priorityClassSource)) ? (oldSelf.spec.priorityClassSource == self.spec.priorityClassSource) : true",
    "priorityClassSource is immutable while workload quota reserved",
);

#[cfg(test)]
const V1BETA1_PRIORITY_CLASS_NAME: Rule = (
    "(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True') && has(oldSelf.spec.priorityClassSource) && has(self.spec.priorityClassSource) && (self.spec.priorityClassSource != 'kueue.x-k8s.io/workloadpriorityclass') && has(oldSelf.spec.priorityClassName) && has(self.spec.priorityClassName)) ? (oldSelf.spec.priorityClassName == self.spec.priorityClassName) : true",
    "priorityClassName is immutable while workload quota reserved and priorityClassSource is not equal to kueue.x-k8s.io/workloadpriorityclass",
);

/// The rules of v1beta2.
pub(crate) fn v1beta2() -> [Rule; 7] {
    [
        ASSIGNMENTS,
        PRIORITY_CLASS_REMOVED,
        PRIORITY_CLASS_GROUP,
        PRIORITY_CLASS_KIND,
        PRIORITY_CLASS_NAME,
        QUEUE_NAME,
        EXECUTION_TIME,
    ]
}

/// The rules of v1beta1.
#[cfg(test)]
pub(crate) fn v1beta1() -> [Rule; 5] {
    [
        ASSIGNMENTS,
        V1BETA1_PRIORITY_CLASS_SOURCE,
        V1BETA1_PRIORITY_CLASS_NAME,
        QUEUE_NAME,
        EXECUTION_TIME,
    ]
}
