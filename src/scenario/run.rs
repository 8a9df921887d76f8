//! Running a scenario on a lab.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;

use super::expect::{Expectation, Selector};
use super::format::{Action, Scenario, Step, Timing};
use super::seen::{Changed, KindKey, Seen, resource};
use super::timeline::{Entry, EntryKind, Observer, Progress, StepProgress, StepState};
use kueue_lab_clock::Clock;
use kueue_lab_presets::Presets;
use kueue_lab_skypilot::jobs::ManagedJobs;

/// The kind whose objects tell the story.
const EVENT: (&str, &str) = ("events.k8s.io/v1", "Event");
/// Field manager of what scenarios apply.
const MANAGER: &str = "kueue-lab-scenario";
/// However fast time passes, what is expected gets this much of the wall clock, or all of its own
/// limit where that is less.
const PATIENCE: Duration = Duration::from_secs(15);

/// The lab a scenario runs on.
#[derive(Clone)]
pub struct Stage {
    /// The cluster.
    pub client: Client,
    /// Lab time.
    pub clock: Clock,
    /// SkyPilot.
    pub jobs: ManagedJobs,
    /// The presets, where the lab has a folder of them.
    pub presets: Option<Arc<Presets>>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// `Ok` with a sentence when all was seen that was expected; otherwise what was not, and what
    /// was seen instead.
    pub result: Result<String, String>,
    /// Lab time it took.
    pub took: Duration,
}

/// Runs a scenario to its end, telling `observer` how it goes.
pub async fn run(stage: &Stage, scenario: &Scenario, observer: &dyn Observer) -> Outcome {
    let began = stage.clock.now();
    let mut run = Run {
        seen: Seen::new(&stage.client, kinds(scenario), stage.jobs.clone()),
        progress: Progress {
            name: scenario.name.clone(),
            steps: steps_ahead(scenario),
            outcome: None,
        },
        told: HashSet::new(),
        job_events: stage.jobs.events().len(),
        stage,
        began,
        observer,
    };
    run.observer.progress(&run.progress);
    let story = run.story(scenario);
    let limit = async {
        let limit = patient(&stage.clock, scenario.limit);
        stage.clock.sleep(limit).await;
    };
    let result = tokio::select! {
        biased;
        result = story => result,
        () = limit => {
            let limit = super::duration::words(scenario.limit);
            Err(format!("the story took longer than its limit of {limit}"))
        }
    };
    let took = stage.clock.now().duration_since(began).unsigned_abs();
    let result = match result {
        Ok(()) => Ok(format!(
            "{} came out as told, in {} of lab time",
            scenario.name,
            super::duration::words(took)
        )),
        Err(reason) => Err(reason),
    };
    run.progress.outcome = Some(result.clone());
    run.observer.progress(&run.progress);
    Outcome { result, took }
}

fn steps_ahead(scenario: &Scenario) -> Vec<StepProgress> {
    let ahead = |step: &Step| StepProgress {
        text: step.say.clone(),
        ..StepProgress::default()
    };
    scenario.steps.iter().map(ahead).collect()
}

/// The kinds a scenario speaks of.
fn kinds(scenario: &Scenario) -> BTreeSet<KindKey> {
    let key = |s: &Selector| (s.api_version.clone(), s.kind.clone());
    let mut kinds = BTreeSet::from([(EVENT.0.to_owned(), EVENT.1.to_owned())]);
    for step in &scenario.steps {
        let expectations = step.expect.iter().chain(match &step.timing {
            Timing::When(expectation) => Some(&**expectation),
            _ => None,
        });
        kinds.extend(expectations.flat_map(Expectation::selectors).map(key));
        match &step.action {
            Action::Patch { object, .. } | Action::Delete(object) => {
                kinds.insert(key(object));
            }
            _ => {}
        }
    }
    kinds
}

struct Run<'a> {
    stage: &'a Stage,
    seen: Seen,
    began: Timestamp,
    observer: &'a dyn Observer,
    progress: Progress,
    /// Events that were told already, by uid.
    told: HashSet<String>,
    /// How many of the jobs' events were told already.
    job_events: usize,
}

/// An expectation on its way.
struct Open<'e> {
    expectation: &'e Expectation,
    deadline: Timestamp,
    met_since: Option<Timestamp>,
}

impl Run<'_> {
    async fn story(&mut self, scenario: &Scenario) -> Result<(), String> {
        if let (Some(preset), Some(presets)) = (&scenario.preset, &self.stage.presets)
            && presets.state().active != *preset
        {
            let findings = presets.switch(preset).await;
            findings.map_err(|f| words(&format!("the preset {preset}"), &f))?;
        }
        let mut done_at = self.began;
        for (index, step) in scenario.steps.iter().enumerate() {
            let outcome = self.step(index, step, done_at).await;
            if let Err(reason) = outcome {
                self.step_state(index, StepState::Failed(reason.clone()));
                self.tell(EntryKind::Failed, &reason);
                let place = format!("{}:{}", scenario.file, step.at);
                return Err(format!("step {} ({place}): {reason}", index + 1));
            }
            self.step_state(index, StepState::Done);
            done_at = self.stage.clock.now();
        }
        Ok(())
    }

    async fn step(&mut self, index: usize, step: &Step, done_at: Timestamp) -> Result<(), String> {
        match &step.timing {
            Timing::Now => {}
            Timing::At(time) => self.pass_until(later(self.began, *time)).await,
            Timing::After(time) => self.pass_until(later(done_at, *time)).await,
            Timing::When(expectation) => self.wait_for(&[expectation]).await?,
        }
        self.progress.steps[index].at = Some(self.stage.clock.now());
        self.step_state(index, StepState::Running);
        self.tell(EntryKind::Step, &step.say);
        self.act(&step.action).await?;
        let expectations: Vec<&Expectation> = step.expect.iter().collect();
        self.wait_for(&expectations).await
    }

    async fn act(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::Watch => Ok(()),
            Action::Wait(time) => {
                self.pass_until(later(self.stage.clock.now(), *time)).await;
                Ok(())
            }
            Action::Launch { name, task } => {
                let launched = self.stage.jobs.launch((**task).clone(), Some(name)).await;
                let id = launched.map_err(|e| e.to_string())?;
                self.seen.ids.insert(name.clone(), id);
                Ok(())
            }
            Action::Cancel(name) => {
                let id = self.seen.ids.get(name).copied().unwrap_or_default();
                self.stage.jobs.cancel(id);
                Ok(())
            }
            Action::Switch(preset) => match &self.stage.presets {
                None => Err("this lab has no presets folder".into()),
                Some(presets) => {
                    let switched = presets.switch(preset).await;
                    switched.map_err(|f| words(&format!("the preset {preset}"), &f))
                }
            },
            Action::Apply(objects) => {
                for object in objects {
                    self.apply(object).await.map_err(|e| e.to_string())?;
                }
                Ok(())
            }
            Action::Patch {
                object,
                merge,
                subresource,
            } => {
                let patch = Patch::Merge(merge);
                let params = PatchParams::default();
                let kind = (object.api_version.clone(), object.kind.clone());
                for (api, name) in self.meant(object)? {
                    let patched = match subresource.as_deref() {
                        None => api.patch(&name, &params, &patch).await,
                        Some(sub) => api.patch_subresource(sub, &name, &params, &patch).await,
                    };
                    let written = patched.map_err(|e| e.to_string())?;
                    self.seen.take_in(&kind, &written);
                }
                Ok(())
            }
            Action::Delete(object) => {
                for (api, name) in self.meant(object)? {
                    let deleted = api.delete(&name, &DeleteParams::background()).await;
                    deleted.map_err(|e| e.to_string())?;
                }
                Ok(())
            }
        }
    }

    async fn apply(&mut self, object: &Value) -> Result<(), kube::Error> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let kind = (
            text("/apiVersion").unwrap_or_default().to_owned(),
            text("/kind").unwrap_or_default().to_owned(),
        );
        let api = self.api(&kind, text("/metadata/namespace"));
        let dynamic: DynamicObject =
            serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        let written = match text("/metadata/name") {
            None => api.create(&PostParams::default(), &dynamic).await?,
            Some(name) => {
                let params = PatchParams::apply(MANAGER).force();
                api.patch(name, &params, &Patch::Apply(&dynamic)).await?
            }
        };
        self.seen.take_in(&kind, &written);
        Ok(())
    }

    /// The objects a selector means now; that there is none is an error.
    fn meant(&self, selector: &Selector) -> Result<Vec<(Api<DynamicObject>, String)>, String> {
        let kind = (selector.api_version.clone(), selector.kind.clone());
        let found: Vec<_> = self
            .seen
            .select(selector)
            .into_iter()
            .map(|o| {
                let text = |field: &str| o["metadata"][field].as_str();
                let api = self.api(&kind, text("namespace"));
                (api, text("name").unwrap_or_default().to_owned())
            })
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        // What was made a moment ago may not have been seen yet; a full name is enough then.
        match &selector.name {
            Some(name) if !name.contains('*') => {
                let api = self.api(&kind, selector.namespace.as_deref());
                Ok(vec![(api, name.clone())])
            }
            _ => Err(format!("there is no {selector}")),
        }
    }

    fn api(&self, kind: &KindKey, namespace: Option<&str>) -> Api<DynamicObject> {
        let client = self.stage.client.clone();
        match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource(kind)),
            None if is_cluster_scoped(&kind.1) => Api::all_with(client, &resource(kind)),
            None => Api::default_namespaced_with(client, &resource(kind)),
        }
    }

    /// Lets lab time pass, telling what happens meanwhile.
    async fn pass_until(&mut self, moment: Timestamp) {
        let clock = self.stage.clock.clone();
        let mut jobs = self.stage.jobs.changes();
        loop {
            self.tell_jobs();
            tokio::select! {
                biased;
                Some(changed) = self.seen.next() => self.tell_event(changed),
                Ok(()) = jobs.changed() => {}
                () = clock.sleep_until(moment) => return,
            }
        }
    }

    /// Waits until everything expected was seen.
    async fn wait_for(&mut self, expectations: &[&Expectation]) -> Result<(), String> {
        let clock = self.stage.clock.clone();
        let mut jobs = self.stage.jobs.changes();
        let since = self.job_events;
        let begun = clock.now();
        let mut open: Vec<Open<'_>> = expectations
            .iter()
            .map(|expectation| Open {
                expectation,
                deadline: later(begun, patient(&clock, expectation.within)),
                met_since: None,
            })
            .collect();
        loop {
            self.tell_jobs();
            let now = clock.now();
            let mut still = Vec::new();
            for mut one in open {
                match self.seen.check(one.expectation, since) {
                    Ok(()) => {
                        let met = *one.met_since.get_or_insert(now);
                        if now >= later(met, one.expectation.holds) {
                            self.tell(EntryKind::Met, &one.expectation.to_string());
                        } else {
                            still.push(one);
                        }
                    }
                    Err(seen) if now >= one.deadline || one.met_since.is_some() => {
                        let within = super::duration::words(one.expectation.within);
                        let how = match one.met_since {
                            Some(_) => "did not stay so".to_owned(),
                            None => format!("not within {within}"),
                        };
                        return Err(format!("{}: {how}; {seen}", one.expectation));
                    }
                    Err(_) => still.push(one),
                }
            }
            open = still;
            let Some(next) = open.iter().map(Open::due).min() else {
                return Ok(());
            };
            tokio::select! {
                biased;
                Some(changed) = self.seen.next() => self.tell_event(changed),
                Ok(()) = jobs.changed() => {}
                () = clock.sleep_until(next) => {}
            }
        }
    }

    fn tell_jobs(&mut self) {
        let events = self.seen.job_events();
        // Old events may have been dropped from the front of a full list.
        let new = events.iter().skip(self.job_events.min(events.len()));
        let lines: Vec<String> = new
            .map(|e| format!("{} {}: {}", e.name, e.status, e.reason))
            .collect();
        self.job_events = events.len();
        for line in lines {
            self.tell(EntryKind::Job, &line);
        }
    }

    fn tell_event(&mut self, changed: Changed) {
        let Some(event) = changed.0 else { return };
        if event["kind"] != EVENT.1 || event["apiVersion"] != EVENT.0 {
            return;
        }
        let text = |field: &str| event[field].as_str().unwrap_or_default();
        if !text("reportingController").contains("kueue") {
            return;
        }
        let uid = event["metadata"]["uid"].as_str().unwrap_or_default();
        if !self.told.insert(uid.to_owned()) {
            return;
        }
        let about = &event["regarding"];
        let line = format!(
            "{} {}: {} {}",
            about["kind"].as_str().unwrap_or_default(),
            about["name"].as_str().unwrap_or_default(),
            text("reason"),
            text("note")
        );
        self.tell(EntryKind::Event, &line);
    }

    fn tell(&self, kind: EntryKind, text: &str) {
        let at = self.stage.clock.now().duration_since(self.began);
        self.observer.entry(&Entry {
            at,
            kind,
            text: text.to_owned(),
        });
    }

    fn step_state(&mut self, index: usize, state: StepState) {
        self.progress.steps[index].state = state;
        self.observer.progress(&self.progress);
    }
}

impl Open<'_> {
    /// When it has to be looked at even if nothing changes.
    fn due(&self) -> Timestamp {
        match self.met_since {
            Some(met) => later(met, self.expectation.holds),
            None => self.deadline,
        }
    }
}

/// Kinds of the whole cluster among those a scenario may name without a namespace.
fn is_cluster_scoped(kind: &str) -> bool {
    matches!(
        kind,
        "ClusterQueue"
            | "Cohort"
            | "ResourceFlavor"
            | "AdmissionCheck"
            | "WorkloadPriorityClass"
            | "ProvisioningRequestConfig"
            | "Topology"
            | "Node"
            | "Namespace"
            | "PriorityClass"
            | "CustomResourceDefinition"
    )
}

/// How long to wait, in lab time, for what is to come `within` that. Faster than the wall clock, a
/// limit of a few real moments would tell of the machine rather than of the queues.
fn patient(clock: &Clock, within: Duration) -> Duration {
    within.max(within.min(PATIENCE).mul_f64(clock.speed()))
}

fn later(from: Timestamp, by: Duration) -> Timestamp {
    jiff::SignedDuration::try_from(by)
        .ok()
        .and_then(|by| from.checked_add(by).ok())
        .unwrap_or(Timestamp::MAX)
}

fn words(what: &str, findings: &[kueue_lab_presets::Finding]) -> String {
    let said: Vec<_> = findings.iter().map(ToString::to_string).collect();
    format!("{what} cannot be put in force: {}", said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_lab_gives_the_machine_its_time() {
        let seconds = Duration::from_secs;
        let patience = |speed: f64, within: u64| patient(&Clock::scaled(speed), seconds(within));
        assert_eq!(patience(1.0, 30), seconds(30));
        assert_eq!(patience(0.5, 30), seconds(30));
        // As long as it may take in real time, at the most.
        assert_eq!(patience(20.0, 5), seconds(100));
        assert_eq!(patience(20.0, 30), seconds(300));
        assert_eq!(patience(2.0, 60), seconds(60));
    }
}
