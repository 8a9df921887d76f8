//! The actions: each is one file that implements [`Action`]. Key bindings and commands
//! ([`keymap`](crate::keymap)) hold the actions themselves.

mod action;
mod back;
mod cancel_managed_job;
mod choose_namespace;
mod copy_name;
mod delete;
mod explain;
mod fold;
mod go_in_history;
mod go_in_time;
mod go_to_cluster_queue;
mod go_to_view;
mod go_to_workloads;
pub(crate) mod navigation;
mod next_match;
mod open_details;
mod open_prompt;
mod pause_clock;
mod quit;
mod run_demo;
mod run_until;
mod scroll;
mod set_speed;
mod show_object;
mod show_page;
mod sort_rows;
mod submit_job;
mod submit_preset_sample;
mod switch_preset;
mod toggle_finished;

pub(crate) use action::Action;
pub(crate) use back::Back;
pub(crate) use cancel_managed_job::CancelManagedJob;
pub use cancel_managed_job::cancel_managed_job;
pub(crate) use choose_namespace::ChooseNamespace;
pub(crate) use copy_name::CopyName;
pub use delete::delete_object;
pub(crate) use delete::{Delete, DeleteObjects};
pub(crate) use explain::{Explain, ExplainWorkload};
pub(crate) use fold::Fold;
pub(crate) use go_in_history::GoInHistory;
pub(crate) use go_in_time::{ALL_DECISIONS, FindDecision, GoToTime};
pub(crate) use go_to_cluster_queue::GoToClusterQueue;
pub(crate) use go_to_view::{GoToView, LastView, StepView};
pub(crate) use go_to_workloads::GoToWorkloads;
pub(crate) use next_match::NextMatch;
pub(crate) use open_details::OpenDetails;
pub(crate) use open_prompt::{OpenCommandPrompt, OpenFilterPrompt, OpenSearchPrompt};
pub(crate) use pause_clock::PauseClock;
#[cfg(test)]
pub(crate) use pause_clock::SetPaused;
pub(crate) use quit::{Quit, QuitAtOnce, Suspend};
#[cfg(test)]
pub(crate) use run_demo::StartDemo;
pub(crate) use run_demo::{
    RunDemo, ask_about_other_workloads, choose as choose_demo, start as start_demo,
};
pub(crate) use run_until::{RunUntil, StepCycle};
pub(crate) use scroll::Scroll;
pub(crate) use set_speed::{SetSpeed, StepSpeed};
pub(crate) use show_object::{Describe, FetchObject, ShowYaml};
pub(crate) use show_page::{ShowHelp, ShowNotifications};
pub(crate) use sort_rows::SortRows;
pub use submit_job::submit_job;
pub(crate) use submit_job::{OpenSubmitForm, SubmitJob};
pub(crate) use submit_preset_sample::{OpenSampleMenu, choose as choose_sample};
pub(crate) use switch_preset::{ApplyPreset, OpenPresetMenu, SwitchPreset};
pub(crate) use toggle_finished::ToggleFinished;
