//! [`TestFile`]: a queue configuration and its cases.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::load_scenario::{StepsOfFile, load_scenario};
use super::test_file_error::TestFileError;
use crate::coverage::{Parts, parts_of};
use crate::located::Located;
use crate::names::{KnownNames, is_of_job_operator};
use crate::raw::RawTestFile;
use crate::scenario::Scenario;
use kueue_lab_lab::{FileSource, KueueConfig, NodePools, pool_nodes};
use kueue_lab_presets::{
    BaseConfiguration, Finding, SourceFile, check_preset, check_references, load_configuration,
    missing_namespaces,
};
use kueue_lab_yaml::{Limits, Node, Problem, closest, from_node, parse_one, utf8};

/// The default of `limit`, in lab time.
const DEFAULT_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Sub-folders of queues without queues.
const NO_QUEUES: [&str; 3] = ["samples", "test", "tests"];
/// The default seed of randomness.
const DEFAULT_SEED: u64 = 1;

/// A test file.
#[derive(Clone, Debug, PartialEq)]
pub struct TestFile {
    /// The file as the user names it.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The presets folder.
    pub presets: PathBuf,
    /// The preset of the folder.
    pub preset: String,
    /// Kueue's configuration in place of that of the preset.
    pub kueue: Option<KueueConfig>,
    /// The nodes in place of those of the preset.
    pub nodes: Option<NodePools>,
    /// The seed of randomness.
    pub seed: u64,
    /// The parts of the queue configuration that cases can exercise.
    pub parts: Parts,
    /// Whether the preset has objects of job operators.
    pub has_operator_kinds: bool,
    /// Warnings about the queue configuration.
    pub warnings: Vec<Finding>,
    /// The cases.
    pub cases: Vec<Scenario>,
}

impl TestFile {
    /// Whether a test file names a preset.
    pub fn names_preset(path: &Path) -> bool {
        let text =
            kueue_lab_host::read_to_string(path, kueue_lab_host::FILE_LIMIT).unwrap_or_default();
        parse_one(&text, Limits::default()).is_ok_and(|node| node.get("preset").is_some())
    }

    /// The folders with the queue configuration of a test file, also if it or they have errors.
    pub fn source_folders(path: &Path, presets: &Path) -> Vec<PathBuf> {
        let text =
            kueue_lab_host::read_to_string(path, kueue_lab_host::FILE_LIMIT).unwrap_or_default();
        let Ok(node) = parse_one(&text, Limits::default()) else {
            return Vec::new();
        };
        let named = |field: &str| node.get(field).and_then(Node::as_str);
        let folder = path.parent().unwrap_or(Path::new(""));
        let queues = named("queues").map(|queues| folder.join(queues));
        let preset = named("preset").map(|preset| presets.join(preset));
        let folders = queues.into_iter().chain(preset);
        folders
            .flat_map(|folder| [folder.join("samples"), folder])
            .collect()
    }

    /// The files that a test file names, also if it or they have errors.
    pub fn source_files(path: &Path) -> Vec<PathBuf> {
        let text =
            kueue_lab_host::read_to_string(path, kueue_lab_host::FILE_LIMIT).unwrap_or_default();
        let Ok(node) = parse_one(&text, Limits::default()) else {
            return Vec::new();
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let settings = ["kueue", "nodes"].map(|field| node.get(field).and_then(Node::as_str));
        let cases = node.get("cases").map_or(&[][..], Node::items).iter();
        let steps = cases.filter_map(|case| case.get("steps"));
        let steps = steps.flat_map(|steps| steps.items().iter());
        let of_steps = steps.flat_map(|step| {
            let objects = ["apply", "create"].map(|key| step.get(key).and_then(Node::as_str));
            let task = step.get("launch").and_then(|launch| launch.get("task"));
            let task = task.and_then(Node::as_str);
            objects.into_iter().chain([task]).flatten()
        });
        let names = settings.into_iter().flatten().chain(of_steps);
        names.map(|name| folder.join(name)).collect()
    }

    /// Loads a test file. `presets` is the folder of the presets that test files name.
    ///
    /// # Errors
    /// The first problem in any of the files, and all problems of the queue configuration.
    pub fn load(path: &Path, presets: &Path) -> Result<Self, TestFileError> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let files = FileSource::Folder(folder.clone());
        let name = path.file_name().map_or(path, Path::new);
        let text = files.read(name);
        let text = text.map_err(|error| TestFileError::File(error.to_string()))?;
        let file = files.display(name);
        let in_file = |problem| TestFileError::at(&file, &text, problem);
        let node = parse_one(&text, Limits::default()).map_err(in_file)?;
        let raw: RawTestFile = from_node(&node).map_err(in_file)?;
        let (presets, preset) = match (&raw.preset, &raw.queues) {
            (Some(preset), None) => (presets.to_owned(), known_preset(presets, preset)),
            (None, Some(queues)) => {
                // Without `.` in the names of files.
                let folder: PathBuf = folder.join(&queues.value).components().collect();
                let preset = single_preset(&folder, queues);
                (folder, preset)
            }
            _ => {
                let message = "a test file has either preset or queues";
                return Err(in_file(Problem::new(node.at, message)));
            }
        };
        let preset = preset.map_err(in_file)?;
        let kueue = raw.kueue.as_ref().map(|kueue| {
            let path = Path::new(&kueue.value);
            let text = files.read(path);
            let text = text.map_err(|error| in_file(Problem::new(kueue.at, error.to_string())))?;
            let file = SourceFile {
                name: files.display(path),
                bytes: text.into_bytes(),
            };
            load_configuration(&file).map_err(|errors| with_sources(&errors, &[&file]))
        });
        let nodes = raw.nodes.as_ref().map(|nodes| {
            let path = Path::new(&nodes.value);
            let text = files.read(path);
            let text = text.map_err(|error| in_file(Problem::new(nodes.at, error.to_string())))?;
            NodePools::parse(&text)
                .map_err(|problem| TestFileError::at(&files.display(path), &text, problem))
        });
        let (kueue, nodes) = (kueue.transpose()?, nodes.transpose()?);
        let (kueue, mut warnings) = match kueue {
            Some((kueue, warnings)) => (Some(kueue), warnings),
            None => (None, Vec::new()),
        };
        let mut source = kueue_lab_presets::read(&presets, &preset)
            .map_err(|error| TestFileError::File(error.to_string()))?;
        // Tests submit samples only by steps.
        let samples = std::mem::take(&mut source.samples);
        let mut base = BaseConfiguration::default();
        if let Some(kueue) = &kueue {
            source.settings.configuration = None;
            base.configuration = kueue.configuration.clone();
            base.gates = kueue.gates;
        }
        let of_preset = source.settings.nodes.as_ref().filter(|_| nodes.is_none());
        let of_preset = of_preset.map(|file| {
            let text = utf8(&file.bytes);
            let text = text.map_err(|problem| TestFileError::at(&file.name, "", problem))?;
            NodePools::parse(text).map_err(|problem| TestFileError::at(&file.name, text, problem))
        });
        let pools = nodes.clone().or(of_preset.transpose()?);
        let pools = pools.unwrap_or_else(NodePools::built_in);
        let configuration = source.settings.configuration.as_ref().and_then(|file| {
            let text = std::str::from_utf8(&file.bytes).ok()?;
            Some(kueue_lab_api::config::load(text).ok()?.configuration)
        });
        let configuration = configuration.as_ref().unwrap_or(&base.configuration);
        let fair_sharing = configuration.fair_sharing.is_some();
        let machines = pool_nodes(&pools);
        let parsed = check_preset(&source, &base, None, &machines);
        let (errors, of_queues): (Vec<Finding>, Vec<Finding>) =
            parsed.findings.into_iter().partition(Finding::is_error);
        warnings.extend(of_queues);
        warnings.extend(check_references(&parsed.manifests));
        if !errors.is_empty() {
            let of_settings = source.settings.configuration.iter();
            let files: Vec<&SourceFile> = source.files.iter().chain(of_settings).collect();
            return Err(with_sources(&errors, &files));
        }
        warnings.extend(missing_namespaces(&parsed.manifests));
        let objects = parsed.manifests.iter().map(|manifest| &manifest.object);
        let has_operator_kinds = objects.clone().any(is_of_job_operator);
        let names = KnownNames::of(objects, &machines, fair_sharing).with_presets(
            kueue_lab_presets::list(&presets).unwrap_or_default(),
            samples,
        );
        let mut cases: Vec<Scenario> = Vec::new();
        for case in raw.cases {
            if let Some(first) = cases.iter().find(|c| c.name == case.value.name.value) {
                let message = format!("there is a case {:?} already", first.name);
                return Err(in_file(Problem::new(case.value.name.at, message)));
            }
            let name_at = case.value.name.at;
            let of_steps = |error| TestFileError::of_steps(error, &file, &text);
            let cases_of_file = node.get("cases").map_or(&[][..], Node::items);
            let of_case = cases_of_file
                .iter()
                .find(|case| case.get("name").is_some_and(|name| name.at == name_at));
            let steps = StepsOfFile {
                kind: "case",
                at: name_at,
                raw: case.value.steps,
                nodes: of_case.and_then(|case| case.get("steps")),
                document: &node,
                names: Some(&names),
            };
            let case = Scenario {
                name: case.value.name.value,
                summary: String::new(),
                preset: None,
                pace: 1.0,
                timeout: case.value.limit.map_or(DEFAULT_LIMIT, |limit| limit.0),
                steps: Vec::new(),
                file: file.clone(),
            };
            let case = load_scenario(&files, name, case, steps).map_err(of_steps)?;
            cases.push(case);
        }
        if cases.is_empty() {
            return Err(in_file(Problem::new(node.at, "the file has no cases")));
        }
        Ok(Self {
            presets,
            preset,
            kueue,
            nodes,
            seed: raw.seed.unwrap_or(DEFAULT_SEED),
            parts: parts_of(&parsed.manifests),
            has_operator_kinds,
            warnings,
            cases,
            file,
            text,
        })
    }
}

/// Errors of files, each with its source line.
fn with_sources(errors: &[Finding], files: &[&SourceFile]) -> TestFileError {
    let errors = errors.iter().map(|error| {
        let file = files.iter().find(|file| file.name == error.file);
        let text = file.and_then(|file| std::str::from_utf8(&file.bytes).ok());
        error.with_source(text.unwrap_or_default())
    });
    TestFileError::Queues(errors.collect())
}

/// The name of a preset of the folder.
fn known_preset(folder: &Path, name: &Located<String>) -> Result<String, Problem> {
    let known = kueue_lab_presets::list(folder).unwrap_or_default();
    if known.contains(&name.value) {
        return Ok(name.value.clone());
    }
    let remedy = match closest(&name.value, known.iter().map(String::as_str)) {
        Some(guess) => format!("did you mean {guess:?}?"),
        None => format!("the presets are {}", known.join(", ")),
    };
    let message = format!("there is no preset {:?}; {remedy}", name.value);
    Err(Problem::new(name.at, message))
}

/// The name of a folder of queue YAML as a preset.
fn single_preset(folder: &Path, queues: &Located<String>) -> Result<String, Problem> {
    let problem = |message: String| Problem::new(queues.at, message);
    let names = kueue_lab_presets::list(folder).map_err(|e| problem(e.to_string()))?;
    if let [name] = names.as_slice()
        && !folder.join(name).is_dir()
    {
        return Ok(name.clone());
    }
    let folder_name = folder.display();
    let has_objects = |name: &&String| {
        let source = kueue_lab_presets::read(folder, name);
        !NO_QUEUES.contains(&name.as_str()) && source.is_ok_and(|source| !source.files.is_empty())
    };
    let Some(first) = names.iter().find(has_objects) else {
        let message = format!("{folder_name} has no YAML files; name the folder with the queues");
        return Err(problem(message));
    };
    Err(problem(match has_yaml_files(folder) {
        true => format!(
            "{folder_name} has YAML files, and so has its sub-folder {first}: only the files of one folder are read; \
             move those of {first} into {folder_name}, or use a folder without sub-folders for each"
        ),
        false => format!(
            "{folder_name} has no YAML files; name a sub-folder that has some, such as {}",
            Path::new(&queues.value).join(first).display()
        ),
    }))
}

/// Whether a folder has YAML files that are no test files.
fn has_yaml_files(folder: &Path) -> bool {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| {
        let stem = name.strip_suffix(".yaml").or(name.strip_suffix(".yml"));
        stem.is_some_and(|stem| !stem.ends_with(".test") && !stem.starts_with('.'))
    })
}
