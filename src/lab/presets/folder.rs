//! Reads the presets folder: the list of presets, their files and samples.

use std::io;
use std::path::{Path, PathBuf};

use super::preset_settings::PresetSettings;
use kueue_lab_yaml::leading_comment;

/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Maximum number of files of a preset, and of presets of a folder.
const MAX_FILES: usize = 200;
/// The sub-folder of a preset with samples to submit, which are not applied.
const SAMPLES: &str = "samples";
/// The name of a preset in a folder whose own name is none for a preset.
const UNNAMED_PRESET: &str = "preset";
/// Sub-folders of a preset with test files and the files that these name.
const TEST_FOLDERS: [&str; 2] = ["test", "tests"];
/// The names of the files with the settings of a preset.
const SETTINGS: [&str; 3] = ["kueue", "nodes", "clusters"];
/// Files of other tools, which hold no objects to apply.
const IGNORED_FILES: [&str; 2] = ["kustomization.yaml", "kustomization.yml"];

/// The error of reading the folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// The presets folder cannot be read.
    #[error("cannot read the folder {}: {reason}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// There is no such preset.
    #[error("there is no preset {name:?} in {}; the presets are {}", folder.display(), join_names(known))]
    NoPreset {
        /// The requested name.
        name: String,
        /// The folder.
        folder: PathBuf,
        /// The existing presets.
        known: Vec<String>,
    },
    /// The preset has no files.
    #[error("the preset folder {} holds no YAML file", .0.display())]
    Empty(PathBuf),
    /// A file of a preset cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// There are too many files.
    #[error("{} holds more than {MAX_FILES} entries; is it a presets folder?", .0.display())]
    TooMany(PathBuf),
}

fn join_names(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        names => names.join(", "),
    }
}

/// A file of a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path as the person would write it.
    pub name: String,
    /// The content; may be invalid UTF-8.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// The name without folders.
    pub(crate) fn file_name(&self) -> String {
        let name = Path::new(&self.name).file_name();
        name.map_or_else(
            || self.name.clone(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}

/// A sample workload of a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// File name without extension.
    pub name: String,
    /// The leading comment.
    pub description: String,
    /// Path as the person would write it.
    pub file: String,
    /// Whether it is a SkyPilot task (`NAME.task.yaml`) rather than a manifest.
    pub is_task: bool,
    /// The text.
    pub text: String,
}

/// The annotation of a Job that can be admitted with fewer pods.
const MIN_PARALLELISM: &str = "kueue.x-k8s.io/job-min-parallelism";

/// The files of a preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetSource {
    /// The leading comment of the first file that has one.
    pub description: String,
    /// The files to apply, by name.
    pub files: Vec<SourceFile>,
    /// The settings.
    pub settings: PresetSettings,
    /// The samples, by name.
    pub samples: Vec<Sample>,
    /// Whether a sample can be admitted with fewer pods.
    pub partial_admission: bool,
}

impl PresetSource {
    /// The names of all files but the samples, sorted.
    pub(crate) fn file_names(&self) -> Vec<String> {
        let PresetSettings {
            configuration,
            nodes,
            clusters,
        } = &self.settings;
        let settings = [configuration, nodes, clusters].into_iter().flatten();
        let files = self.files.iter().chain(settings);
        let mut names: Vec<String> = files.map(SourceFile::file_name).collect();
        names.sort();
        names
    }

    /// Whether a file is empty, as it is while an editor writes it.
    pub(crate) fn has_blank_file(&self) -> bool {
        self.files.iter().any(|f| f.bytes.trim_ascii().is_empty())
    }
}

/// The name of a presets folder that is itself a preset: it has YAML files and no sub-folder with YAML
/// files except samples, tests and settings, and the name is that of the folder. `None` for a folder with one
/// sub-folder per preset.
fn single_preset(folder: &Path) -> Option<String> {
    if yaml_files(folder).is_ok_and(|files| files.is_empty()) {
        return None;
    }
    let is_settings = |file: &PathBuf| {
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        stem.is_some_and(|stem| SETTINGS.contains(&stem))
    };
    let has_objects = |folder: &Path| {
        let files = yaml_files(folder).unwrap_or_default();
        files.iter().any(|file| !is_settings(file))
    };
    let entries = folder.read_dir().ok()?.flatten();
    let mut presets = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_str().filter(|name| is_preset_name(name));
        name.is_some_and(|name| name != SAMPLES && !TEST_FOLDERS.contains(&name))
            && has_objects(&entry.path())
    });
    if presets.next().is_some() {
        return None;
    }
    let full = folder.canonicalize().ok()?;
    let name = full.file_name().and_then(|name| name.to_str());
    let name = name.filter(|name| is_preset_name(name));
    Some(name.unwrap_or(UNNAMED_PRESET).to_owned())
}

/// The folder of one preset of a presets folder.
pub(crate) fn preset_folder(folder: &Path, name: &str) -> PathBuf {
    match single_preset(folder) {
        Some(single) if single == name => folder.to_owned(),
        _ => folder.join(name),
    }
}

/// Names of the presets in a folder, sorted. Follows links to folders; ignores hidden entries. A folder with
/// YAML files is one preset with the name of the folder.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<String>, FolderError> {
    if let Some(name) = single_preset(folder) {
        return Ok(vec![name]);
    }
    let failed = |e: io::Error| FolderError::Folder {
        path: folder.to_owned(),
        reason: os_error(&e),
    };
    let mut names = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        if is_preset_name(&name) && entry.path().is_dir() {
            names.push(name);
        }
        if names.len() > MAX_FILES {
            return Err(FolderError::TooMany(folder.to_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// Reads one preset of a folder.
///
/// # Errors
/// There is no such preset, or some file cannot be read.
pub fn read(folder: &Path, name: &str) -> Result<PresetSource, FolderError> {
    let path = preset_folder(folder, name);
    if !is_preset_name(name) || !path.is_dir() {
        return Err(FolderError::NoPreset {
            name: name.to_owned(),
            folder: folder.to_owned(),
            known: list(folder)?,
        });
    }
    let mut source = PresetSource::default();
    for file in yaml_files(&path)? {
        if let Some(bytes) = read_file(&file)? {
            source.files.push(SourceFile {
                name: file.display().to_string(),
                bytes,
            });
        }
    }
    if source.files.is_empty() {
        return Err(FolderError::Empty(path));
    }
    source.settings = PresetSettings::take_from(&mut source.files);
    source.description = description(&source.files);
    let samples = path.join(SAMPLES);
    if samples.is_dir() {
        for file in yaml_files(&samples)? {
            let text = read_file(&file)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            if let Some(text) = text {
                source.partial_admission |= text.contains(MIN_PARALLELISM);
                source.samples.push(sample(&file, text));
            }
        }
    }
    Ok(source)
}

/// The settings of one preset; none if it cannot be read.
pub fn read_settings(folder: &Path, name: &str) -> PresetSettings {
    let preset = preset_folder(folder, name);
    let exists = |extension: &&str| {
        let mut files = SETTINGS
            .iter()
            .map(|name| preset.join(format!("{name}.{extension}")));
        files.any(|file| file.exists())
    };
    match ["yaml", "yml"].iter().any(exists) {
        true => read(folder, name).map_or_else(|_| PresetSettings::default(), |s| s.settings),
        false => PresetSettings::default(),
    }
}

/// The leading comment of the first file that has one.
pub(super) fn description(files: &[SourceFile]) -> String {
    files
        .iter()
        .filter_map(|f| std::str::from_utf8(&f.bytes).ok())
        .map(leading_comment)
        .find(|c| !c.is_empty())
        .unwrap_or_default()
}

pub(super) fn sample(file: &Path, text: String) -> Sample {
    let name = file
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or_default();
    let stem = name.trim_end_matches(".yml").trim_end_matches(".yaml");
    Sample {
        name: stem.trim_end_matches(".task").to_owned(),
        description: leading_comment(&text),
        file: file.display().to_string(),
        is_task: stem.ends_with(".task"),
        text,
    }
}

/// Whether a folder name is valid for a preset: letters, digits, `-`, `.` and `_`, not hidden.
fn is_preset_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 63 && !name.starts_with('.') && name.chars().all(part)
}

/// The suffixes of test files.
const TEST_SUFFIXES: [&str; 2] = [".test.yaml", ".test.yml"];

/// The YAML files directly in a folder, sorted. Ignores temporary files of editors, kustomization files and
/// test files.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let failed = |e: io::Error| FolderError::File {
        path: folder.to_owned(),
        reason: os_error(&e),
    };
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        let is_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
        let ignored = name.starts_with(['.', '#', '~'])
            || IGNORED_FILES.contains(&name)
            || TEST_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
        if is_yaml && !ignored && !path.is_dir() {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(FolderError::TooMany(folder.to_owned()));
        }
    }
    files.sort();
    Ok(files)
}

/// The content of a file; `None` if it was deleted since it was listed.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>, FolderError> {
    let failed = |reason: String| FolderError::File {
        path: path.to_owned(),
        reason,
    };
    match kueue_lab_host::read(path, MAX_FILE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed(os_error(&e))),
    }
}

/// The text of an operating system error, without its number.
fn os_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::NotADirectory => "it is not a folder".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_samples_are_read_without_temporary_files() {
        let root = tempfile::tempdir().unwrap();
        let at = |p: &str| root.path().join(p);
        for (file, text) in [
            ("b/20-queues.yaml", "kind: A\n"),
            ("b/10-flavors.yml", "# Teaches b.\nkind: B\n"),
            ("b/.20-queues.yaml.swp", "x"),
            ("b/#20-queues.yaml#", "x"),
            ("b/20-queues.yaml~", "x"),
            ("b/20-queues.test.yaml", "x"),
            ("b/notes.md", "x"),
            ("b/samples/gpu.task.yaml", "# A GPU job.\nname: x\n"),
            ("b/samples/cpu.yaml", "kind: Job\n"),
            ("a/x.yaml", ""),
            (".git/x.yaml", ""),
            ("README.md", ""),
        ] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), text).unwrap();
        }
        assert_eq!(list(root.path()).unwrap(), ["a", "b"]);
        let source = read(root.path(), "b").unwrap();
        assert_eq!(source.description, "Teaches b.");
        let names: Vec<_> = source
            .files
            .iter()
            .map(|f| f.name.rsplit('/').next().unwrap())
            .collect();
        assert_eq!(names, ["10-flavors.yml", "20-queues.yaml"]);
        let samples: Vec<_> = source
            .samples
            .iter()
            .map(|s| (s.name.as_str(), s.is_task))
            .collect();
        assert_eq!(samples, [("cpu", false), ("gpu", true)]);
        assert!(read(root.path(), "a").unwrap().has_blank_file());
    }

    #[test]
    fn a_folder_with_yaml_files_is_one_preset() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("team-a");
        let write = |path: &str| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "kind: A\n").unwrap();
        };
        for file in ["queues.yaml", "kustomization.yaml", "samples/job.yaml"] {
            write(file);
        }
        assert_eq!(list(&folder).unwrap(), ["team-a"]);
        let source = read(&folder, "team-a").unwrap();
        let files: Vec<_> = source.files.iter().map(|f| &f.name).collect();
        assert_eq!(files, [&folder.join("queues.yaml").display().to_string()]);
        assert_eq!(source.samples.len(), 1);
        assert!(read(&folder, "queues").is_err());
        // Tests and settings in sub-folders are none of the preset.
        for file in ["tests/job.yaml", "other/nodes.yaml"] {
            write(file);
        }
        assert_eq!(list(&folder).unwrap(), ["team-a"]);
        // A stray file beside presets is no preset.
        write("other/queues.yaml");
        assert_eq!(list(&folder).unwrap(), ["other", "samples", "tests"]);
    }

    #[test]
    fn missing_presets_and_folders_are_reported() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("a")).unwrap();
        let e = read(root.path(), "b").unwrap_err().to_string();
        assert!(
            e.starts_with("there is no preset \"b\" in ") && e.ends_with("; the presets are a"),
            "{e}"
        );
        assert!(matches!(
            read(root.path(), "../a"),
            Err(FolderError::NoPreset { .. })
        ));
        assert!(matches!(read(root.path(), "a"), Err(FolderError::Empty(_))));
        let missing = root.path().join("missing");
        assert!(
            list(&missing)
                .unwrap_err()
                .to_string()
                .ends_with("missing: it does not exist")
        );
    }
}
