//! [`CreatedJobs`]: the Jobs that the steps of a file create from templates.

use std::collections::BTreeSet;

use kueue_lab_yaml::{Position, Problem};

use crate::delete_step::delete_step;
use crate::scenario::StepAction;
use crate::selector::Selector;

/// The Jobs that exist, as far as they are created from templates.
#[derive(Debug, Default)]
pub(super) struct CreatedJobs {
    /// Namespaces and names.
    jobs: BTreeSet<(String, String)>,
}

impl CreatedJobs {
    /// Records the Jobs that an action creates or deletes.
    ///
    /// # Errors
    /// It creates a Job that exists.
    pub(super) fn record(&mut self, action: &StepAction, at: Position) -> Result<(), Problem> {
        match action {
            StepAction::CreateJobs(template) => {
                for job in &template.jobs {
                    let text = |field: &str| job["metadata"][field].as_str().unwrap_or_default();
                    let (namespace, name) = (text("namespace"), text("name"));
                    if !self.jobs.insert((namespace.to_owned(), name.to_owned())) {
                        let delete = delete_step("Job", name);
                        let message = format!(
                            "a step before this one creates the Job {name:?} already; take another name, or {delete} first"
                        );
                        return Err(Problem::new(at, message));
                    }
                }
            }
            StepAction::Delete(selector) => self.delete(selector),
            // The objects of the preset before are deleted, which can be namespaces.
            StepAction::SwitchPreset(_) => self.jobs.clear(),
            _ => {}
        }
        Ok(())
    }

    fn delete(&mut self, selector: &Selector) {
        match selector.kind.as_str() {
            "Job" => self
                .jobs
                .retain(|(namespace, name)| !selector.can_select(namespace, name)),
            "Namespace" => self.jobs.clear(),
            _ => {}
        }
    }
}
