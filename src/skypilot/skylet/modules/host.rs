//! [`Modules`]: finds the function that a program calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_container::Container;
use kueue_lab_python::{Arguments, Exception, Host, Value};
use tokio::sync::mpsc;

use super::{jobs, logs, managed_jobs, standard};
use crate::driver::Driver;
use crate::job_table::JobStatus;
use crate::runtime::Runtime;

/// The version of the runtime, which decides what a client generates and accepts.
const SKYLET_VERSION: &str = "42";
/// The version of the runtime's functions.
const SKYLET_LIB_VERSION: i64 = 7;
/// The version of the functions for managed jobs, from which on programs load plugins before they call one.
const MANAGED_JOBS_VERSION: i64 = 26;
/// The version of the functions for services and pools.
const SERVE_VERSION: i64 = 5;
/// The modules of managed jobs.
const MANAGED_JOBS: [&str; 3] = ["sky.jobs.", "sky.server.plugins.", "sky.sky_logging."];

/// The modules of one program.
pub(crate) struct Modules {
    pub(super) runtime: Arc<Runtime>,
    pub(super) container: Arc<Container>,
    pub(super) environment: BTreeMap<String, String>,
    /// The standard output.
    pub(super) output: mpsc::Sender<String>,
    driver: Driver,
}

impl Modules {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        container: Arc<Container>,
        environment: BTreeMap<String, String>,
        output: mpsc::Sender<String>,
    ) -> Self {
        let driver = Driver::new(runtime.clone(), output.clone());
        Self {
            runtime,
            container,
            environment,
            output,
            driver,
        }
    }

    /// Writes to the standard output.
    pub(super) async fn print(&self, text: impl Into<String>) {
        // Without a reader the program continues, as Python does until its buffer is written.
        let _ = self.output.send(text.into()).await;
    }
}

/// A value in a form that clients find among other output.
pub(super) fn encode_payload(value: &Value) -> Result<Value, Exception> {
    let json = value.to_json()?;
    Ok(Value::str(format!("<sky-payload>{json}</sky-payload>\n")))
}

#[async_trait]
impl Host for Modules {
    fn constant(&self, name: &str) -> Option<Value> {
        if let Some(status) = name.strip_prefix("sky.skylet.job_lib.JobStatus.") {
            return JobStatus::of_name(status).map(|status| Value::str(status.name()));
        }
        match name {
            "sky.skylet.constants.SKYLET_VERSION" => Some(Value::str(SKYLET_VERSION)),
            "sky.skylet.constants.SKYLET_LIB_VERSION" => Some(Value::Int(SKYLET_LIB_VERSION)),
            "sky.jobs.constants.MANAGED_JOBS_VERSION" => Some(Value::Int(MANAGED_JOBS_VERSION)),
            "sky.serve.constants.SERVE_VERSION" => Some(Value::Int(SERVE_VERSION)),
            "sky_templates.__file__" => Some(Value::str("/root/sky_templates/__init__.py")),
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        let job_function = name.strip_prefix("sky.skylet.job_lib.");
        job_function.is_some_and(|name| jobs::FUNCTIONS.contains(&name))
            || self.constant(name).is_some()
    }

    async fn call(&mut self, name: &str, arguments: Arguments) -> Result<Value, Exception> {
        if let Some(function) = name.strip_prefix("sky.skylet.job_lib.") {
            return jobs::call(self, function, &arguments).await;
        }
        match name {
            "sky.skylet.log_lib.tail_logs" => logs::tail_logs(self, &arguments).await,
            "sky.exceptions.JobExitCode.from_job_status" => {
                let status = arguments.required(0, "status")?;
                let status = status.as_str().and_then(JobStatus::of_name);
                Ok(Value::Int(JobStatus::exit_code(status)))
            }
            // The cluster is never stopped by itself.
            "sky.skylet.autostop_lib.set_autostop"
            | "sky.skylet.autostop_lib.set_hooks"
            | "sky.skylet.autostop_lib.set_last_active_time_to_now" => Ok(Value::None),
            "sky.skylet.autostop_lib.get_is_autostopping_payload" => {
                encode_payload(&Value::Bool(false))
            }
            "sky.utils.message_utils.encode_payload" => {
                encode_payload(arguments.required(0, "payload")?)
            }
            // There are no services and no pools.
            "sky.serve.serve_utils.get_service_status_encoded" => Ok(Value::str(
                "<sky-payloadservice_status>[]</sky-payloadservice_status>\n",
            )),
            _ if MANAGED_JOBS.iter().any(|module| name.starts_with(module)) => {
                managed_jobs::call(self, name, &arguments).await
            }
            _ if Driver::has(name) => self.driver.call(name, &arguments).await,
            _ => standard::call(self, name, &arguments).await,
        }
    }
}
