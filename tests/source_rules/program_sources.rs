//! The source files of the program.

use std::path::{Path, PathBuf};

/// The files below a folder of the repository with their names, without tests and comments.
pub(crate) fn program_sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join(folder), &mut files);
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|file| (file.clone(), std::fs::read_to_string(file).unwrap()))
        .collect();
    let tests = texts
        .iter()
        .flat_map(|(file, text)| test_modules(file, text));
    let tests: Vec<PathBuf> = tests.collect();
    let program = texts
        .iter()
        .filter(|(file, _)| !tests.iter().any(|test| file.starts_with(test)));
    let named = program.map(|(file, text)| {
        let name = file.strip_prefix(root).unwrap().display().to_string();
        (name, code(text))
    });
    named.collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tests") => {}
            true => sources(&path, found),
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
}

/// The text without comments and without the test module at its end.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests {");
    let text = &text[..tests.unwrap_or(text.len())];
    let lines = text.lines().map(|line| line.trim_start());
    let lines = lines.filter(|line| !line.starts_with("//"));
    // A call may begin on the line after its receiver.
    lines.collect::<Vec<_>>().join("\n").replace("\n.", ".")
}

/// The files and folders of the modules that are compiled for tests only.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let folder = match stem {
        "mod" | "lib" | "main" => file.parent().unwrap().to_owned(),
        _ => file.with_extension(""),
    };
    let mut modules = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if is_test && let Some(name) = line.split("mod ").nth(1).and_then(|m| m.strip_suffix(';')) {
            modules.extend([folder.join(name).with_extension("rs"), folder.join(name)]);
        }
        is_test = line == "#[cfg(test)]";
    }
    modules
}
