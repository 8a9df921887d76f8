//! The state of the UI: the watched objects, the data derived from them, and the state of the user
//! interface. [`update`] changes it, [`view`] draws it.
//!
//! [`update`]: mod@crate::update
//! [`view`]: mod@crate::screen

mod app_state;
mod candidates;
mod demo_of_preset;
mod dialog;
mod env;
mod filter;
mod form;
mod go_in_time;
mod list;
mod notifications;
mod page;
mod page_search;
mod past;
mod prompt;
pub(crate) mod requires;
mod row_id;
mod sample_job;
mod typed_list;
mod ui_state;
mod unavailable_reason;
mod view_id;

pub use app_state::State;
pub(crate) use candidates::CandidatesOfPage;
pub(crate) use demo_of_preset::{is_of_active, only_demo};
pub(crate) use dialog::{Confirmation, Dialog, Menu, OnChoose, OnConfirm};
pub use env::Env;
pub(crate) use filter::Filter;
pub(crate) use form::{FieldId, SubmitForm};
pub use go_in_time::GoInTime;
pub(crate) use list::{ListState, Sort, SortBy};
pub(crate) use notifications::{Notifications, Severity};
pub(crate) use page::{Page, PageContent, PageKind, WrappedLines};
pub(crate) use page_search::PageSearch;
pub use past::Past;
pub(crate) use prompt::{Prompt, PromptMode};
pub(crate) use row_id::RowId;
pub use sample_job::SampleJob;
pub(crate) use typed_list::TypedList;
pub(crate) use ui_state::{Location, UiState};
pub(crate) use unavailable_reason::UnavailableReason;
pub(crate) use view_id::ViewId;
