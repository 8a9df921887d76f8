//! `python3`: programs that SkyPilot generates, its modules that are run as programs, and Ray's script.

use std::sync::Arc;

use kueue_lab_container::ProgramCall;
use kueue_lab_python::Exception;
use tokio::sync::mpsc;

use crate::managed_job_scheduler;
use crate::modules::Modules;
use crate::runtime::{Runtime, expand_user};

/// The program to run.
enum Target {
    /// `-c PROGRAM`
    Program(String),
    /// `-m MODULE ARGUMENT...`
    Module(String, Vec<String>),
    /// `FILE ARGUMENT...`
    File(String, Vec<String>),
    /// The standard input.
    Input,
    /// `-V`
    Version,
}

fn target(arguments: &[String]) -> Target {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let next = arguments.as_slice().first().cloned().unwrap_or_default();
        match argument.as_str() {
            "-c" => return Target::Program(next),
            "-m" => return Target::Module(next, arguments.skip(1).cloned().collect()),
            "-V" | "--version" => return Target::Version,
            "-W" | "-X" => drop(arguments.next()),
            "-" => return Target::Input,
            option if option.starts_with('-') => {}
            path => return Target::File(path.to_owned(), arguments.cloned().collect()),
        }
    }
    Target::Input
}

/// Runs `python3`. Returns its exit code.
pub(crate) async fn run(runtime: &Arc<Runtime>, call: &ProgramCall<'_>) -> i32 {
    let program = match target(call.arguments()) {
        Target::Version => {
            call.print("Python 3.10.18\n").await;
            return 0;
        }
        Target::Module(module, arguments) => {
            return run_module(runtime, &module, &arguments, call).await;
        }
        Target::Program(program) => program,
        Target::Input => String::from_utf8_lossy(&call.input().await).into_owned(),
        Target::File(path, arguments) if path.ends_with("/ray") => {
            return run_ray(runtime, &arguments, call).await;
        }
        Target::File(path, _) => {
            let path = match expand_user(&path) {
                path if path.starts_with('/') => path,
                path => format!("{}/{path}", call.directory()),
            };
            match call.container().read_file(&path) {
                Some(program) => String::from_utf8_lossy(&program).into_owned(),
                None => {
                    let why = "[Errno 2] No such file or directory";
                    let text = format!("python3: can't open file '{path}': {why}\n");
                    call.print_error(&text).await;
                    return 2;
                }
            }
        }
    };
    interpret(runtime, &program, call).await
}

async fn interpret(runtime: &Arc<Runtime>, program: &str, call: &ProgramCall<'_>) -> i32 {
    // Tasks print while the program waits for them.
    let (output, mut printed) = mpsc::channel::<String>(64);
    let container = call.container().clone();
    let mut modules = Modules::new(
        runtime.clone(),
        container,
        call.environment().clone(),
        output,
    );
    let running = async move {
        let result = kueue_lab_python::run(program, &mut modules).await;
        drop(modules);
        result
    };
    let printing = async {
        while let Some(text) = printed.recv().await {
            call.print(&text).await;
        }
    };
    let (result, ()) = tokio::join!(running, printing);
    match result {
        Ok(()) => 0,
        Err(Exception::Exit(code)) => code & 0xff,
        Err(error) => {
            let text = format!("Traceback (most recent call last):\n{error}\n");
            call.print_error(&text).await;
            1
        }
    }
}

/// Modules that are run as programs.
async fn run_module(
    runtime: &Runtime,
    module: &str,
    arguments: &[String],
    call: &ProgramCall<'_>,
) -> i32 {
    match module {
        "sky.jobs.scheduler" => managed_job_scheduler::run(runtime, arguments, call).await,
        // Daemons whose work is that of other parts of the runtime.
        "sky.skylet.attempt_skylet" | "pip" => 0,
        module => {
            let text = format!("python3: module {module} is not simulated\n");
            call.print_error(&text).await;
            1
        }
    }
}

/// `ray start`, `ray stop` and `ray status`
async fn run_ray(runtime: &Runtime, arguments: &[String], call: &ProgramCall<'_>) -> i32 {
    match arguments.first().map(String::as_str) {
        Some("start" | "stop") => 0,
        Some("status") => {
            let nodes = runtime.nodes.nodes().await;
            let mut text = String::from("======== Autoscaler status ========\nNode status\n");
            text.push_str("---------------------------------------------------------------\n");
            text.push_str("Active:\n");
            for (number, _) in nodes.iter().enumerate() {
                text.push_str(&format!(" 1 node_{number:056x}\n"));
            }
            text.push_str("Pending:\n (no pending nodes)\nRecent failures:\n (no failures)\n");
            call.print(&text).await;
            0
        }
        other => {
            let text = format!("ray: {} is not simulated\n", other.unwrap_or_default());
            call.print_error(&text).await;
            1
        }
    }
}
