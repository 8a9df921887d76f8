//! `kueue-lab test`: the flags, the run and the exit code.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use tokio_util::sync::CancellationToken;

use super::find_files::test_files;
use super::warning_scenario::warning_scenario;
use super::watched_files::WatchedFiles;
use crate::cli::output::print_stdout;
use crate::cli::{CommandError, Shutdown, logging, runtime};
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_explain::explain_text_of_controller;
use kueue_lab_lab::{Lab, LabPaths};
use kueue_lab_presets::{FileWatcher, Finding};
use kueue_lab_scenario::{
    CaseResult, CaseStart, Coverage, LabFuture, TestFile, TestOptions, case_text, coverage,
    json_report, junit_report, run_tests, summary_text, test_file_schema,
};

const EXAMPLES: &str = "\
Examples:
  kueue-lab test                                 all *.test.yaml below this folder
  kueue-lab test queues.test.yaml --watch        again at every save
  kueue-lab test tests/ --filter 'preempts*'     the cases with these names
  kueue-lab test -o junit > report.xml           for a CI system; exit code 1 when a case fails
  kueue-lab test --warning starving-queue        what a warning is about";

/// Test queue configurations: run the cases of test files in virtual time.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// Test files, and folders with *.test.yaml files [default: this folder].
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Run only cases whose name or `FILE: NAME` contains this text, or matches it with `*`.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Start no further case after a failure.
    #[arg(long)]
    fail_fast: bool,
    /// Also report which queues, flavors, preemption policies and limits no case exercised.
    #[arg(long)]
    coverage: bool,
    /// Run again when a file changes.
    #[arg(long)]
    watch: bool,
    /// Print the JSON schema of test files, for editors, and exit.
    #[arg(long)]
    schema: bool,
    /// Print a configuration that causes this warning, and a test file that shows its effect, and exit.
    #[arg(long, value_name = "NAME")]
    warning: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// The folder of the presets that test files name, as for `up`.
    #[arg(long, value_name = "DIR")]
    presets_dir: Option<PathBuf>,
    /// How many cases run at the same time [default: the number of processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// The longest run of a case in seconds of real time; one that takes longer fails.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A line for each case, and the details of failed ones.
    Text,
    /// One JSON object.
    Json,
    /// JUnit XML.
    Junit,
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CommandError> {
    if args.schema {
        let schema =
            serde_json::to_string_pretty(&test_file_schema()).map_err(CommandError::failed)?;
        return print_stdout(format!("{schema}\n").as_bytes());
    }
    if let Some(name) = &args.warning {
        return print_stdout(warning_scenario(name)?.as_bytes());
    }
    logging::errors_to_stderr();
    let stop = Shutdown::start(false)?.token();
    if !args.watch {
        return run_once(&args, &stop);
    }
    let runtime = runtime()?;
    let mut watcher = runtime.block_on(async { FileWatcher::new() });
    loop {
        // A change during the run is not lost.
        let before = watched_files(&args);
        runtime.block_on(async { watcher.watch_folders(before.folders.clone()) });
        if let Err(error) = run_once(&args, &stop) {
            eprintln!("{}", error.rendered());
        }
        let is_stopped = runtime.block_on(async {
            loop {
                tokio::select! {
                    () = watcher.changed() => {}
                    () = stop.cancelled() => return true,
                }
                // Another file can be in the same folder, such as the output of this command.
                if watched_files(&args) != before {
                    return false;
                }
            }
        });
        if is_stopped {
            return Ok(());
        }
        // Between two runs.
        print_stdout(b"\n")?;
    }
}

/// Loads and runs the tests once.
fn run_once(args: &Args, stop: &CancellationToken) -> Result<(), CommandError> {
    run_files(args, &load(args)?, stop)
}

/// The files of the tests, also if these have errors.
fn watched_files(args: &Args) -> WatchedFiles {
    let here = [PathBuf::from(".")];
    let paths = match args.paths.as_slice() {
        [] => &here,
        paths => paths,
    };
    let files = find(args).unwrap_or_default();
    let presets = presets(args, &files).unwrap_or_default();
    WatchedFiles::of(paths, &files, &presets)
}

/// The folder of the presets that test files name; an empty path if they name none.
fn presets(args: &Args, files: &[PathBuf]) -> Result<PathBuf, CommandError> {
    let is_needed = |file: &PathBuf| TestFile::names_preset(file);
    if args.presets_dir.is_none() && !files.iter().any(is_needed) {
        return Ok(PathBuf::new());
    }
    let here = std::env::current_dir().map_err(CommandError::failed)?;
    let paths = LabPaths::find(args.presets_dir.clone(), &here).map_err(CommandError::usage)?;
    Ok(paths.presets.path().to_owned())
}

/// The test files.
fn find(args: &Args) -> Result<Vec<PathBuf>, CommandError> {
    match args.paths.is_empty() {
        true => test_files(&[PathBuf::from(".")]),
        false => test_files(&args.paths),
    }
}

/// Loads all test files.
///
/// # Errors
/// All problems of all files.
fn load(args: &Args) -> Result<Vec<TestFile>, CommandError> {
    let paths = find(args)?;
    let presets = presets(args, &paths)?;
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for path in paths {
        match TestFile::load(&path, &presets) {
            Ok(file) => files.push(file),
            Err(error) => problems.push(error.to_string()),
        }
    }
    match problems.is_empty() {
        true => Ok(files),
        false => Err(CommandError::usage(problems.join("\n"))),
    }
}

fn run_files(
    args: &Args,
    files: &[TestFile],
    stop: &CancellationToken,
) -> Result<(), CommandError> {
    let started = Instant::now();
    let warnings = files.iter().flat_map(|file| &file.warnings);
    let warnings: BTreeSet<&Finding> = warnings.collect();
    warnings.iter().for_each(|w| eprintln!("warning: {w}"));
    let options = TestOptions {
        filter: args.filter.clone(),
        fail_fast: args.fail_fast,
        threads: args.threads.map(usize::from),
        timeout: Duration::from_secs(args.timeout),
        start: CaseStart::Shared,
        explain: &|lab, namespace, name| explain(lab, namespace, name),
        stop: stop.clone(),
    };
    let is_text = args.output == Output::Text;
    let results = run_tests(files, &options, |result: &CaseResult| {
        if is_text {
            // A closed stdout does not stop the tests.
            let _ = print_stdout(case_text(result).as_bytes());
        }
    });
    if stop.is_cancelled() {
        return Err(CommandError::failed("interrupted"));
    }
    if results.is_empty() {
        let filter = args.filter.as_deref().unwrap_or_default();
        return Err(CommandError::usage(format!(
            "no case matches --filter {filter:?}"
        )));
    }
    let coverage = match args.coverage {
        true => coverage(files, &results),
        false => Vec::new(),
    };
    let report = match args.output {
        Output::Text => {
            let coverage = coverage.iter().map(Coverage::text);
            coverage.collect::<String>() + &summary_text(&results, started.elapsed())
        }
        Output::Json => {
            let mut report = json_report(&results);
            if args.coverage {
                report["coverage"] = coverage.iter().map(Coverage::json).collect();
            }
            format!("{report:#}\n")
        }
        Output::Junit => {
            // JUnit has no place for it.
            coverage.iter().for_each(|c| eprint!("{}", c.text()));
            junit_report(&results)
        }
    };
    print_stdout(report.as_bytes())?;
    let failed = results.iter().filter(|r| r.failure.is_some()).count();
    match failed {
        0 => Ok(()),
        failed => Err(CommandError::failed(format!(
            "{failed} of {} cases failed",
            results.len()
        ))),
    }
}

/// The explanation of a Workload by the engine of the lab's controller.
fn explain<'a>(lab: &'a Lab, namespace: &'a str, name: &'a str) -> LabFuture<'a, Option<String>> {
    Box::pin(async move {
        let key = WorkloadKey::new(namespace, name);
        let (client, controller) = (lab.client(), lab.controller()?);
        let explained = explain_text_of_controller(&client, &controller, &key);
        explained.await.ok()
    })
}
