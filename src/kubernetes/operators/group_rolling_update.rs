//! The rolling update of a LeaderWorkerSet, upstream's `rollingUpdateParameters`: partition and replicas
//! of the StatefulSet of leaders.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::child_objects::count;
use super::group_state::GroupStates;
use kueue_lab_component_helpers::int_or_percent::scaled_value_from_int_or_percent;

/// `rollingUpdateConfiguration` as numbers of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RollingUpdate {
    /// `replicas` of the LeaderWorkerSet.
    pub replicas: usize,
    /// Groups above `replicas` during an update.
    pub max_surge: usize,
    /// Groups of `replicas` that may be unavailable.
    pub max_unavailable: usize,
    /// The first group that is updated.
    pub partition: usize,
}

/// The existing StatefulSet of leaders.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaderStatefulSet {
    /// Its replicas.
    pub replicas: usize,
    /// Its partition.
    pub partition: usize,
    /// `replicas` of the LeaderWorkerSet when it was last written.
    pub desired_replicas: usize,
    /// Whether it has the template of the current revision.
    pub updated: bool,
}

/// The desired state of the StatefulSet of leaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaderTarget {
    /// The first leader that is of the current revision.
    pub partition: usize,
    /// The number of leaders.
    pub replicas: usize,
}

impl RollingUpdate {
    /// The configuration of a spec.
    pub(super) fn of(spec: &Value) -> Self {
        let replicas = count(&spec["replicas"], 1);
        let configuration = &spec["rolloutStrategy"]["rollingUpdateConfiguration"];
        let number = |field: &str, default: usize, up: bool| {
            let value = serde_json::from_value::<IntOrString>(configuration[field].clone());
            let of = i32::try_from(replicas).unwrap_or(i32::MAX);
            value.map_or(default, |value| {
                usize::try_from(scaled_value_from_int_or_percent(&value, of, up)).unwrap_or(0)
            })
        };
        Self {
            replicas,
            max_surge: number("maxSurge", 0, true).min(replicas),
            max_unavailable: number("maxUnavailable", 1, false),
            partition: count(&configuration["partition"], 0),
        }
    }

    /// The target for the existing StatefulSet, with the states of its groups.
    pub(super) fn target(
        &self,
        leaders: Option<LeaderStatefulSet>,
        states: &GroupStates,
    ) -> LeaderTarget {
        let mut target = self.unpartitioned_target(leaders, states);
        target.partition = target.partition.max(self.partition);
        target
    }

    fn unpartitioned_target(
        &self,
        leaders: Option<LeaderStatefulSet>,
        states: &GroupStates,
    ) -> LeaderTarget {
        let target = |partition, replicas| LeaderTarget {
            partition,
            replicas,
        };
        let Some(leaders) = leaders else {
            return target(0, self.replicas);
        };
        let is_scaling_up = leaders.replicas < self.replicas;
        if !leaders.updated {
            // Scaling precedes the update.
            let partition = self.replicas.min(leaders.replicas);
            let replicas = match is_scaling_up {
                true => self.replicas,
                false => self.replicas_with_surge(self.replicas),
            };
            return target(partition, replicas);
        }
        if leaders.partition == 0 && leaders.replicas == self.replicas {
            return target(0, self.replicas);
        }
        if is_scaling_up {
            return target(leaders.partition, self.replicas);
        }
        let done = states.last_below(self.replicas, |state| state.ready && state.updated);
        let unready = self.replicas.saturating_sub(done.count());
        let replicas = self.replicas_with_surge(unready);
        if leaders.desired_replicas != self.replicas {
            let partition = leaders.partition.min(self.replicas + self.max_surge);
            return target(partition, replicas);
        }
        // Surge replicas that do not exist reduce the number of groups that are updated at once.
        let surplus = leaders.replicas.saturating_sub(self.replicas);
        let step = self.max_unavailable + surplus.min(self.max_surge);
        target(
            next_partition(states, step).min(leaders.partition),
            replicas,
        )
    }

    /// The number of leaders while `unready` desired groups are not updated and ready.
    fn replicas_with_surge(&self, unready: usize) -> usize {
        match unready <= self.max_surge {
            true => self.replicas + unready.saturating_sub(self.max_unavailable),
            false => self.replicas + self.max_surge,
        }
    }
}

/// The partition that updates up to `step` groups at once, from the last one down.
fn next_partition(states: &GroupStates, step: usize) -> usize {
    let all_done = states.last_below(states.count, |state| state.ready && state.updated);
    let from_the_end = all_done.zip((0..states.count).rev());
    let done = from_the_end
        .take_while(|(index, last)| index == last)
        .count();
    let lowest = states.count.saturating_sub(done + step);
    let ready = states.last_below(lowest, |state| state.ready).count();
    let partition = lowest + (lowest - ready);
    // The update of a group that is not ready makes none unavailable.
    let end = partition.saturating_add(1).min(states.count);
    let mut available = states.last_below(end, |state| state.ready && !state.updated);
    match available.next().filter(|index| *index >= lowest) {
        Some(index) if index + 1 == end => partition,
        Some(index) => index + 1,
        None if lowest < end => lowest,
        None => partition,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::group_state::GroupState;
    use super::*;

    const OLD: GroupState = GroupState {
        ready: true,
        updated: false,
    };
    const NEW: GroupState = GroupState {
        ready: true,
        updated: true,
    };
    const DOWN: GroupState = GroupState {
        ready: false,
        updated: false,
    };

    fn configuration(replicas: usize, max_unavailable: Value, max_surge: Value) -> RollingUpdate {
        RollingUpdate::of(&json!({
            "replicas": replicas,
            "rolloutStrategy": {"rollingUpdateConfiguration": {
                "maxUnavailable": max_unavailable, "maxSurge": max_surge,
            }},
        }))
    }

    fn leaders(replicas: usize, partition: usize, desired_replicas: usize) -> LeaderStatefulSet {
        LeaderStatefulSet {
            replicas,
            partition,
            desired_replicas,
            updated: true,
        }
    }

    fn target_of(
        update: &RollingUpdate,
        leaders: LeaderStatefulSet,
        states: &[GroupState],
    ) -> LeaderTarget {
        update.target(Some(leaders), &states.into())
    }

    #[test]
    fn percentages_are_of_the_replicas() {
        let update = configuration(4, json!("30%"), json!("30%"));
        assert_eq!((update.max_unavailable, update.max_surge), (1, 2));
        assert_eq!(configuration(2, json!(1), json!(5)).max_surge, 2);
        let default = RollingUpdate::of(&json!({}));
        assert_eq!(
            (default.replicas, default.max_unavailable, default.max_surge),
            (1, 1, 0)
        );
    }

    #[test]
    fn an_update_adds_surge_groups_and_updates_them_first() {
        let update = configuration(4, json!(0), json!(2));
        let before = LeaderStatefulSet {
            updated: false,
            ..leaders(4, 0, 4)
        };
        let target = |partition, replicas| LeaderTarget {
            partition,
            replicas,
        };
        assert_eq!(target_of(&update, before, &[OLD; 4]), target(4, 6));
        // The surge groups are of the new template, and not ready yet.
        let states = [OLD, OLD, OLD, OLD, DOWN, DOWN];
        assert_eq!(target_of(&update, leaders(6, 4, 4), &states), target(4, 6));
        let states = [OLD, OLD, OLD, OLD, NEW, NEW];
        assert_eq!(target_of(&update, leaders(6, 4, 4), &states), target(2, 6));
        let states = [OLD, OLD, NEW, NEW, NEW, NEW];
        assert_eq!(target_of(&update, leaders(6, 2, 4), &states), target(0, 6));
        let states = [DOWN, NEW, NEW, NEW, NEW, NEW];
        assert_eq!(target_of(&update, leaders(6, 0, 4), &states), target(0, 5));
        assert_eq!(
            target_of(&update, leaders(5, 0, 4), &[NEW; 5]),
            target(0, 4)
        );
    }

    #[test]
    fn without_surge_max_unavailable_groups_are_updated_at_once() {
        let update = configuration(4, json!(2), json!(0));
        let partition = |at, states: &[GroupState]| {
            let target = target_of(&update, leaders(4, at, 4), states);
            assert_eq!(target.replicas, 4);
            target.partition
        };
        assert_eq!(partition(4, &[OLD; 4]), 2);
        assert_eq!(partition(2, &[OLD, OLD, DOWN, NEW]), 1);
        assert_eq!(partition(1, &[OLD, NEW, NEW, NEW]), 0);
        // Groups that are not ready are updated at once.
        assert_eq!(partition(4, &[DOWN; 4]), 2);
        // One of the first groups is not ready.
        assert_eq!(partition(4, &[DOWN, OLD, OLD, OLD]), 3);
    }

    #[test]
    fn the_partition_of_the_spec_limits_the_update() {
        let update = RollingUpdate {
            partition: 2,
            ..configuration(3, json!(1), json!(0))
        };
        let target = target_of(&update, leaders(3, 2, 3), &[OLD, OLD, NEW]);
        assert_eq!(target.partition, 2);
    }

    #[test]
    fn scaling_precedes_the_update() {
        let update = configuration(4, json!(1), json!(1));
        let before = LeaderStatefulSet {
            updated: false,
            ..leaders(2, 0, 2)
        };
        let target = target_of(&update, before, &[OLD; 2]);
        assert_eq!((target.partition, target.replicas), (2, 4));
    }
}
