//! Reads the steps of a scenario, and every file that they reference, before the first step runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::created_jobs::CreatedJobs;
use super::description::default_description;
use super::job_steps::read_job_steps;
use crate::duration::format_exact;
use crate::expect::Expectation;
use crate::job_template::JobTemplate;
use crate::located::Located;
use crate::raw::{RawApply, RawLaunch, RawSample, RawStep};
use crate::scenario::{ScenarioError, Step, StepAction, StepTrigger};
use crate::selector::Selector;
use kueue_lab_lab::FileSource;
use kueue_lab_skypilot::Task;
use kueue_lab_yaml::{Limits, Node, Position, Problem, parse};

/// Reads the steps of a scenario, and every file that they reference.
pub(super) fn load_steps(
    files: &FileSource,
    path: &Path,
    raw: Vec<Located<RawStep>>,
) -> Result<Vec<Step>, ScenarioError> {
    let mut loader = StepLoader {
        files,
        folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        file: files.display(path),
        jobs: BTreeSet::new(),
        created: CreatedJobs::default(),
        at: Duration::ZERO,
    };
    let steps = raw.into_iter();
    steps.map(|step| loader.step(step.value, step.at)).collect()
}

struct StepLoader<'a> {
    files: &'a FileSource,
    /// The scenario's folder, relative to the root of `files`.
    folder: PathBuf,
    file: String,
    /// Names of the jobs launched by earlier steps.
    jobs: BTreeSet<String>,
    /// The Jobs created from templates by earlier steps.
    created: CreatedJobs,
    /// The latest `at` of earlier steps.
    at: Duration,
}

impl StepLoader<'_> {
    fn step(&mut self, mut raw: RawStep, at: Position) -> Result<Step, ScenarioError> {
        let problem = |at, message: &str| self.problem(Problem::new(at, message));
        let triggers = [raw.at.is_some(), raw.after.is_some(), raw.when.is_some()];
        if triggers.iter().filter(|t| **t).count() > 1 {
            return Err(problem(at, "a step has one of at, after and when"));
        }
        let trigger = match (raw.at.take(), raw.after.take(), raw.when.take()) {
            (Some(at), _, _) => {
                let time = at.value.0;
                if time < self.at {
                    let (time, before) = (format_exact(time), format_exact(self.at));
                    let message = format!("the step starts at {time}, an earlier one at {before}");
                    return Err(self.problem(Problem::new(at.at, message)));
                }
                self.at = time;
                StepTrigger::At(time)
            }
            (_, Some(after), _) => StepTrigger::After(after.value.0),
            (_, _, Some(when)) => {
                let expectation = Expectation::read(when.value, when.at, &self.jobs);
                StepTrigger::When(Box::new(expectation.map_err(|p| self.problem(p))?))
            }
            _ => StepTrigger::Now,
        };
        let mut actions = Vec::new();
        if let Some(launch) = raw.launch.take() {
            actions.push(self.launch(launch.value, launch.at)?);
        }
        if let Some(sample) = raw.sample.take() {
            let (sample, name) = match sample.value {
                RawSample::Name(name) => (name.clone(), name),
                RawSample::Named(sample) => (sample.name, sample.renamed),
            };
            // It may be a SkyPilot task.
            self.jobs.insert(name.clone());
            actions.push(StepAction::Sample { sample, name });
        }
        if let Some(name) = raw.cancel.take() {
            if !self.jobs.contains(&name.value) {
                let message = format!("no step before this one launches {:?}", name.value);
                return Err(self.problem(Problem::new(name.at, message)));
            }
            actions.push(StepAction::Cancel(name.value));
        }
        if let Some(apply) = raw.apply.take() {
            actions.push(StepAction::Apply(self.objects(apply.value, apply.at)?));
        }
        if let Some(create) = raw.create.take() {
            actions.push(StepAction::Create(self.objects(create.value, create.at)?));
        }
        if let Some(patch) = raw.patch.take() {
            let object = patch.value.object;
            let object = Selector::read(object.value, object.at).map_err(|p| self.problem(p))?;
            actions.push(StepAction::Patch {
                object,
                merge: patch.value.merge,
                subresource: patch.value.subresource,
            });
        }
        if let Some(delete) = raw.delete.take() {
            let object = Selector::read(delete.value, delete.at).map_err(|p| self.problem(p))?;
            actions.push(StepAction::Delete(object));
        }
        if let Some(preset) = raw.switch.take() {
            actions.push(StepAction::SwitchPreset(preset.value));
        }
        if let Some(wait) = raw.wait.take() {
            actions.push(StepAction::Wait(wait.value.0));
        }
        let mut name_at = at;
        if let Some(jobs) = raw.jobs.take() {
            name_at = jobs.value.name.at;
            let template = JobTemplate::read(jobs.value, jobs.at).map_err(|p| self.problem(p))?;
            actions.push(StepAction::CreateJobs(template));
        }
        actions.extend(read_job_steps(&mut raw).map_err(|p| self.problem(p))?);
        if actions.len() > 1 {
            let message = "a step has at most one action; write one step per action";
            return Err(self.problem(Problem::new(at, message)));
        }
        let action = actions.pop().unwrap_or(StepAction::ExpectOnly);
        if raw.refused.is_none() {
            let recorded = self.created.record(&action, name_at);
            recorded.map_err(|p| self.problem(p))?;
        }
        let mut expect = Vec::new();
        for raw in raw.expect {
            let read = Expectation::read(raw.value, raw.at, &self.jobs);
            expect.push(read.map_err(|p| self.problem(p))?);
        }
        if action == StepAction::ExpectOnly && expect.is_empty() && trigger == StepTrigger::Now {
            let message = "the step has no action and no expectation";
            return Err(self.problem(Problem::new(at, message)));
        }
        if let Some(refused) = raw.refused.as_ref().filter(|_| !action.is_request()) {
            let message = "refused belongs to a step with a request to the API, such as apply";
            return Err(self.problem(Problem::new(refused.at, message)));
        }
        Ok(Step {
            refused: raw.refused.map(|refused| refused.value),
            description: raw.say.unwrap_or_else(|| default_description(&action)),
            trigger,
            action,
            expect,
            at,
        })
    }

    fn launch(&mut self, raw: RawLaunch, at: Position) -> Result<StepAction, ScenarioError> {
        let path = self.folder.join(&raw.task.value);
        let text = self.read(&path, raw.task.at)?;
        let task = Task::parse(&text).map_err(|e| ScenarioError::In {
            file: self.files.display(&path),
            problem: e.0,
        })?;
        let name = raw.name.map(|n| n.value).or_else(|| task.name.clone());
        let Some(name) = name else {
            let message = "the task has no name; give the job one with `as`";
            return Err(self.problem(Problem::new(at, message)));
        };
        if !self.jobs.insert(name.clone()) {
            let message = format!("a job {name:?} is launched already; give this one another name");
            return Err(self.problem(Problem::new(at, message)));
        }
        Ok(StepAction::Launch {
            name,
            task: Box::new(task),
        })
    }

    fn objects(&self, raw: RawApply, at: Position) -> Result<Vec<Value>, ScenarioError> {
        let objects = match raw {
            RawApply::Many(objects) => objects,
            RawApply::One(object) => vec![object],
            RawApply::File(name) => {
                let path = self.folder.join(&name);
                let text = self.read(&path, at)?;
                let file = self.files.display(&path);
                let documents = parse(&text, Limits::default())
                    .map_err(|problem| ScenarioError::In { file, problem })?;
                let non_empty = documents.iter().filter(|d| !d.is_null());
                non_empty.map(Node::to_json).collect()
            }
        };
        for object in &objects {
            let metadata = &object["metadata"];
            let has_name = metadata["name"].is_string() || metadata["generateName"].is_string();
            if !object["apiVersion"].is_string() || !object["kind"].is_string() || !has_name {
                let message = "an object has apiVersion, kind and a name";
                return Err(self.problem(Problem::new(at, message)));
            }
        }
        Ok(objects)
    }

    fn read(&self, path: &Path, at: Position) -> Result<String, ScenarioError> {
        let read = self.files.read(path);
        read.map_err(|error| self.problem(Problem::new(at, error.to_string())))
    }

    fn problem(&self, problem: Problem) -> ScenarioError {
        ScenarioError::In {
            file: self.file.clone(),
            problem,
        }
    }
}
