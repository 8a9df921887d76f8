//! Serves the managed jobs as objects of the kind `ManagedJob`: launches the jobs of created objects,
//! cancels those of cancelled and deleted ones, and writes the state of every job to its object.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};
use parking_lot::Mutex;
use serde_json::json;

use super::managed_job_resource::{ManagedJobObjectStatus, ManagedJobSpec};
use super::{ManagedJob, ManagedJobs};
use crate::{SkyConfig, Task};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    /// The object of that name changed.
    Object(String),
    /// The job with that id changed.
    Job(u64),
}

struct ManagedJobController {
    api: Api<DynamicObject>,
    objects: Informer<DynamicObject>,
    jobs: ManagedJobs,
    /// The object of each job, and the job as last written.
    names: Mutex<BTreeMap<u64, (String, Option<ManagedJob>)>>,
}

/// Starts the controller in the tasks of `context`.
pub fn serve(context: &Context, jobs: &ManagedJobs) {
    let api = Api::all_with(context.client.clone(), &ManagedJobSpec::api_resource());
    let queue = WorkQueue::new(context);
    let objects = Informer::builder(api.clone()).start(context);
    let of_objects = queue.clone();
    objects.add_event_handler(move |change: &Change<DynamicObject>| {
        of_objects.add(Key::Object(change.object().name_any()));
    });
    let (mut changes, of_jobs, changed) = (jobs.changes(), queue.clone(), jobs.clone());
    context.tasks.spawn("managed-jobs", async move {
        while changes.changed().await.is_ok() {
            for job in changed.jobs() {
                of_jobs.add(Key::Job(job.id));
            }
        }
    });
    let controller = Arc::new(ManagedJobController {
        api,
        objects,
        jobs: jobs.clone(),
        names: Mutex::default(),
    });
    // One worker: a job that is being launched for an object is not taken for one without an object.
    queue.run(context, "managed-jobs", 1, move |key| {
        let controller = controller.clone();
        async move {
            match key {
                Key::Object(name) => controller.reconcile_object(&name).await,
                Key::Job(id) => controller.reconcile_job(id).await,
            }?;
            Ok::<_, kube::Error>(ReconcileResult::Done)
        }
    });
}

impl ManagedJobController {
    fn job_of(&self, name: &str) -> Option<u64> {
        let names = self.names.lock();
        let mut all = names.iter();
        all.find(|(_, (object, _))| object == name)
            .map(|(id, _)| *id)
    }

    async fn reconcile_object(&self, name: &str) -> Result<(), kube::Error> {
        let job = self.job_of(name);
        let Some(object) = self.objects.get(&ObjectKey::cluster(name)) else {
            if let Some(id) = job {
                self.jobs.cancel(id);
            }
            return Ok(());
        };
        let spec = ManagedJobSpec::of(&object);
        match job {
            Some(id) => {
                if spec.cancelled {
                    self.jobs.cancel(id);
                }
                Ok(())
            }
            None if ManagedJobObjectStatus::of(&object).has_ended() => Ok(()),
            None => match self.launch(&spec).await {
                Ok(id) => {
                    self.names.lock().insert(id, (name.to_owned(), None));
                    self.reconcile_job(id).await
                }
                Err(error) => {
                    let status = ManagedJobObjectStatus {
                        error: Some(error),
                        job: None,
                    };
                    self.write_status(name, &status).await
                }
            },
        }
    }

    async fn launch(&self, spec: &ManagedJobSpec) -> Result<u64, String> {
        let text = spec.task.as_deref().ok_or("spec.task: Required value")?;
        let task = Task::parse(text).map_err(|error| format!("spec.task: {error}"))?;
        let config = match &spec.config {
            None => SkyConfig::default(),
            Some(text) => {
                SkyConfig::parse(text).map_err(|error| format!("spec.config: {error}"))?
            }
        };
        let jobs = self.jobs.clone().with_config(config);
        let launched = jobs.launch(task, spec.name.as_deref()).await;
        launched.map_err(|error| error.to_string())
    }

    /// Writes the state of a job to its object, which is created if the lab launched the job itself.
    async fn reconcile_job(&self, id: u64) -> Result<(), kube::Error> {
        let Some(job) = self.jobs.job(id) else {
            // Finished, and removed from the table.
            let removed = self.names.lock().remove(&id);
            return match removed {
                Some((name, _)) => self.delete(&name).await,
                None => Ok(()),
            };
        };
        let known = self.names.lock().get(&id).cloned();
        let name = match known {
            Some((_, Some(written))) if written == job => return Ok(()),
            Some((name, _)) => name,
            None => {
                let spec = ManagedJobSpec {
                    name: Some(job.name.clone()),
                    ..ManagedJobSpec::default()
                };
                let mut object = spec.object();
                object.metadata.generate_name = None;
                let name = format!("job-{id}");
                object.metadata.name = Some(name.clone());
                self.names.lock().insert(id, (name.clone(), None));
                self.api.create(&PostParams::default(), &object).await?;
                name
            }
        };
        let status = ManagedJobObjectStatus {
            job: Some(job.clone()),
            error: None,
        };
        self.write_status(&name, &status).await?;
        self.names.lock().insert(id, (name, Some(job)));
        Ok(())
    }

    async fn write_status(
        &self,
        name: &str,
        status: &ManagedJobObjectStatus,
    ) -> Result<(), kube::Error> {
        let patch = Patch::Merge(json!({"status": status}));
        let written = self
            .api
            .patch_status(name, &PatchParams::default(), &patch)
            .await;
        // The object of a finished job may be deleted.
        match written {
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(()),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), kube::Error> {
        match self.api.delete(name, &DeleteParams::default()).await {
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(()),
        }
    }
}
