//! All stories.

mod cohorts;
mod instances;
mod jobs;
mod pods;
mod preemption;
mod presets;
mod queues;
mod strategies;
mod uninstall;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::place::{Lab, Place};
use crate::stage::Stage;

/// What a story of the shared lab has.
pub struct Scene<'a> {
    pub stage: &'a Stage,
    pub place: &'a Place,
    pub lab: &'a Lab,
}

/// What a story has that starts and ends labs itself. What it leaves in `lab` is the shared one from
/// then on.
pub struct Solo<'a> {
    pub stage: &'a Stage,
    pub place: &'a Place,
}

/// How a story is told.
#[derive(Clone, Copy)]
pub enum Story {
    /// Beside others, on the lab they share.
    Shared(for<'a> fn(Scene<'a>) -> BoxFuture<'a, ()>),
    /// Alone, on a cluster without a lab.
    Alone(for<'a> fn(Solo<'a>) -> BoxFuture<'a, ()>),
}

macro_rules! shared {
    ($room:ident, $name:ident) => {
        (
            concat!(stringify!($room), "::", stringify!($name)),
            Story::Shared(|scene| $room::$name(scene).boxed()),
        )
    };
}

macro_rules! alone {
    ($room:ident, $name:ident) => {
        (
            concat!(stringify!($room), "::", stringify!($name)),
            Story::Alone(|solo| $room::$name(solo).boxed()),
        )
    };
}

/// The stories, in the order in which they begin.
pub const STORIES: &[(&str, Story)] = &[
    shared!(queues, a_queue_is_active_when_what_it_names_is_there),
    shared!(queues, who_waits_and_who_runs_is_counted),
    shared!(queues, a_stopped_queue_lets_nobody_in),
    shared!(queues, what_makes_no_sense_is_refused),
    shared!(jobs, a_job_waits_runs_and_gives_its_quota_back),
    shared!(jobs, a_job_in_no_queue_is_left_alone),
    shared!(jobs, a_job_that_never_fits_is_told_why),
    shared!(jobs, who_is_deactivated_leaves_and_may_come_back),
    shared!(pods, a_pod_waits_behind_its_gate),
    shared!(pods, a_group_of_pods_starts_whole_or_not_at_all),
    shared!(preemption, the_important_one_takes_the_place_of_the_other),
    shared!(cohorts, idle_quota_is_borrowed_and_reclaimed),
    shared!(cohorts, nobody_borrows_beyond_the_limit),
    shared!(strategies, strict_order_waits_for_the_first),
    shared!(strategies, best_effort_passes_who_does_not_fit),
    shared!(presets, a_save_is_in_force_and_a_mistake_changes_nothing),
    alone!(instances, of_two_at_once_one_leads_and_the_other_takes_over),
    alone!(instances, a_leader_that_is_killed_is_replaced),
    alone!(uninstall, what_was_held_back_can_run),
];

impl Story {
    /// Tells it, and takes everything away afterwards, also when it went wrong.
    pub async fn tell(self, name: &str, place: &Place) {
        match self {
            Self::Shared(story) => {
                let lab = place.lab().await;
                let lab = lab.as_ref().expect("somebody has started it");
                let stage = Stage::set(&lab.client, name).await;
                let scene = Scene {
                    stage: &stage,
                    place,
                    lab,
                };
                let told = AssertUnwindSafe(story(scene)).catch_unwind().await;
                if told.is_err() {
                    eprintln!("{name}: there is\n{}", stage.picture().await);
                    eprintln!("{name}: the lab said:\n{}", lab.running.log());
                }
                let cleared = AssertUnwindSafe(stage.clear()).catch_unwind().await;
                told.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
            Self::Alone(story) => {
                let mut shared = place.alone().await;
                let stage = Stage::set(&place.foreign().await.client, name).await;
                let solo = Solo {
                    stage: &stage,
                    place,
                };
                let told = AssertUnwindSafe(story(solo)).catch_unwind().await;
                if told.is_err() {
                    eprintln!("{name}: there is\n{}", stage.picture().await);
                }
                let cleared = async {
                    // Somebody has to take finalizers off.
                    let lab = shared.insert(place.start().await);
                    stage.clear().await;
                    lab
                };
                let cleared = AssertUnwindSafe(cleared).catch_unwind().await.map(drop);
                told.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
        }
    }
}
