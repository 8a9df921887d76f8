//! What `test` sees in a container.

use kueue_lab_shell::test_expression::{TestFile, TestSubject};

use super::state::Shell;
use crate::filesystem::FileKind;

impl TestSubject for Shell {
    fn file(&self, path: &str) -> Option<TestFile> {
        let entry = self.container().files().stat(self.directory(), path).ok()?;
        Some(TestFile {
            is_directory: entry.is_directory(),
            has_content: entry.size() > 0,
            is_executable: entry.mode & 0o111 != 0,
        })
    }

    fn is_link(&self, path: &str) -> bool {
        let entry = self.container().files().lstat(self.directory(), path);
        entry.is_ok_and(|entry| matches!(entry.kind, FileKind::Link(_)))
    }

    fn is_newer(&self, path: &str, than: &str) -> bool {
        let entry = |path: &str| self.container().files().stat(self.directory(), path).ok();
        entry(path).map(|entry| entry.modified) > entry(than).map(|entry| entry.modified)
    }

    fn is_same_file(&self, path: &str, other: &str) -> bool {
        let files = self.container().files();
        let resolve = |path: &str| files.resolve(self.directory(), path, true).ok();
        resolve(path).is_some() && resolve(path) == resolve(other)
    }

    fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }
}
