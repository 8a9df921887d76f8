//! The view of managed jobs of SkyPilot, as `sky jobs queue`.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash};

use super::details::managed_job;
use super::name_pattern::workloads_named;
use super::{Deletion, RelatedWorkloads, RowQuery, View, ViewInfo, ViewRows};
use crate::model::managed_job::ManagedJobRow;
use crate::model::{Kind, ManagedJobRef, ObjectKey, ObjectRef};
use crate::state::{ListState, RowId, SortBy, State, TypedList, UnavailableReason, ViewId};
use crate::text::{age, human_duration};
use crate::theme::Role;
use crate::widgets::table::{self, Cell, Column, ListArea};
use crate::widgets::{Canvas, PageBuilder};

const COLUMNS: [Column; 8] = [
    Column::new("ID", 2, 5, 0).right().no_truncate(),
    Column::new("JOB", 12, 40, 0).name().sort_by(SortBy::Name),
    Column::new("STATUS", 10, 10, 1)
        .no_truncate()
        .sort_by(SortBy::State),
    Column::new("RECOVERIES", 10, 10, 4).right().no_truncate(),
    Column::new("DURATION", 8, 8, 5).right().no_truncate(),
    Column::new("REQUESTED", 9, 30, 6),
    Column::new("DETAILS", 12, 120, 2).fraction(2),
    Column::new("AGE", 4, 6, 3)
        .right()
        .no_truncate()
        .sort_by(SortBy::Age),
];

/// The view of managed jobs; a row is the name of a `ManagedJob`.
pub(crate) struct JobsView;

impl View for JobsView {
    fn info(&self) -> &'static ViewInfo {
        &ViewInfo {
            title: "Jobs",
            help: "managed jobs of SkyPilot",
            command_names: &["jobs", "managedjobs", "mj"],
            kind: Some(Kind::ManagedJob),
            namespaced: false,
            side_panel: true,
            sorts: &[SortBy::Name, SortBy::State, SortBy::Age],
        }
    }

    fn hash_revision(&self, state: &State, hasher: &mut DefaultHasher) {
        state.data.managed_jobs.revision().hash(hasher);
    }

    fn rows(&self, state: &State, query: RowQuery<'_>) -> ViewRows {
        let jobs = &state.data.managed_jobs;
        let mut found: Vec<&ManagedJobRow> = jobs
            .iter()
            .filter(|job| query.passes(|| filter_text(job), &job.meta.labels))
            .collect();
        match query.sort_by() {
            Some(SortBy::Name) => found.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id))),
            Some(SortBy::State) => found.sort_by_key(|job| (job.is_final(), job.status.clone())),
            // As `sky jobs queue`: the newest first.
            _ => found.sort_by_key(|job| Reverse((job.meta.created, job.id))),
        }
        let rows = found.into_iter().map(|job| job.meta.key.name.clone());
        query.in_direction(ViewId::Jobs, rows, jobs.len())
    }

    fn draw(&self, state: &State, area: ListArea, list: &ListState, canvas: &mut Canvas<'_>) {
        let list = TypedList::<String>::new(list);
        table::draw(canvas, area, &COLUMNS, list, |c, name| {
            Some(row(state, c, state.data.managed_jobs.named(name)?))
        });
    }

    fn empty_text(&self, _: &State) -> String {
        "No managed jobs: an embedded cluster has them after `kueue-lab sky jobs launch TASK`."
            .to_owned()
    }

    fn row_title(&self, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        Some(format!("ManagedJob {name}"))
    }

    fn row_name(&self, state: &State, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        let job = state.data.managed_jobs.named(name)?;
        Some(job.name.clone())
    }

    fn caption(&self, state: &State, id: &RowId) -> Option<String> {
        let name = id.get::<String>()?;
        let job = state.data.managed_jobs.named(name)?;
        let details = match job.details.is_empty() {
            true => job.status.clone(),
            false => format!("{}: {}", job.status, job.details),
        };
        Some(format!("{}: {details}", job.title()))
    }

    fn details(&self, state: &State, id: &RowId, page: &mut PageBuilder<'_>) {
        let Some(name) = id.get::<String>() else {
            return;
        };
        match state.data.managed_jobs.named(name) {
            Some(found) => managed_job::write(state, found, page),
            None => page.not_found("ManagedJob", name),
        }
    }

    fn object(&self, _: &State, id: &RowId) -> Option<ObjectRef> {
        let name = id.get::<String>()?;
        let key = ObjectKey::cluster(name);
        Some(ObjectRef::watched(Kind::ManagedJob, key))
    }

    /// Cancels the job: its Pods would be launched again.
    fn deletion(&self, state: &State, id: &RowId) -> Result<Deletion, UnavailableReason> {
        let name = id.get::<String>().ok_or(UnavailableReason::NotApplicable)?;
        let job = state.data.managed_jobs.named(name);
        let job = job.filter(|job| !job.is_final()).ok_or_else(|| {
            UnavailableReason::because("the managed job has ended; there is nothing to cancel")
        })?;
        Ok(Deletion {
            objects: self.object(state, id).into_iter().collect(),
            note: "Its cluster is torn down, and its pods are deleted.".to_owned(),
            managed_job: Some(ManagedJobRef::Object {
                name: name.clone(),
                title: job.title(),
            }),
        })
    }

    fn related_workloads(&self, state: &State, id: &RowId) -> Option<RelatedWorkloads> {
        let name = id.get::<String>()?;
        let job = state.data.managed_jobs.named(name)?;
        let names = managed_job::pods(state, job)
            .filter_map(|pod| state.derived.workload_of(&pod.meta.key))
            .map(|workload| workload.name.as_str());
        let none = format!("{} has no workload", job.title());
        Some(workloads_named(names.collect(), none))
    }
}

fn filter_text(job: &ManagedJobRow) -> String {
    let ManagedJobRow {
        name,
        status,
        requested,
        details,
        ..
    } = job;
    format!("{name} {status} {requested} {details}")
}

/// The role of a status.
pub(super) fn status_role(job: &ManagedJobRow) -> Role {
    match job.status.as_str() {
        "RUNNING" | "SUCCEEDED" => Role::Success,
        "RECOVERING" | "CANCELLING" => Role::Warning,
        "FAILED" | "REJECTED" => Role::Error,
        "CANCELLED" => Role::Dim,
        _ => Role::Waiting,
    }
}

fn row(state: &State, c: &Canvas<'_>, job: &ManagedJobRow) -> Vec<Cell> {
    let now = state.data.now;
    let or_none = |text: &str| if text.is_empty() { "-" } else { text }.to_owned();
    let id = job.id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    let duration = human_duration(job.job_duration(now).as_secs());
    let recoveries = match job.recoveries {
        0 => c.span("0", Role::Dim),
        n => c.span(n.to_string(), Role::Warning),
    };
    vec![
        vec![c.span(id, Role::Dim)],
        vec![c.span(job.name.clone(), Role::Text)],
        vec![c.span(job.status.clone(), status_role(job))],
        vec![recoveries],
        vec![c.span(duration, Role::Text)],
        vec![c.span(or_none(&job.requested), Role::Text)],
        vec![c.span(or_none(&job.details), Role::Dim)],
        vec![c.span(age(now, job.meta.created), Role::Text)],
    ]
}
