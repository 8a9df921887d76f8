//! [`TmuxPane`]: a pane of a private tmux server in which a program runs.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The interval of reads of the screen.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// Whether tmux is on `PATH`.
pub(crate) fn available() -> bool {
    kueue_lab_testing::has_tool("tmux", &["-V"])
}

/// A pane with a shell that runs one command and prints its exit code.
pub(crate) struct TmuxPane {
    server: String,
    home: tempfile::TempDir,
}

impl TmuxPane {
    /// Opens a terminal of this size, sets variables, and runs a shell command line in it.
    pub(crate) fn open(columns: u16, rows: u16, command: &str, vars: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let terminal = Self {
            server: format!("kueue-lab-test-{}-{number}", std::process::id()),
            home: tempfile::tempdir().unwrap(),
        };
        let home = terminal.home.path().display();
        let mut script = format!(
            "cd {home}; export HOME={home} XDG_STATE_HOME={home} LC_ALL=C.UTF-8 TZ=UTC\n\
             unset NO_COLOR\n"
        );
        for (name, value) in vars {
            script.push_str(&format!("export {name}='{value}'\n"));
        }
        script.push_str(&format!(
            "stty -g > before\necho shell-before\n{command}\ncode=$?\nstty -g > after\n\
             echo \"ended with $code\"\ncmp before after && echo restored\nexec cat\n"
        ));
        let file = terminal.home.path().join("script");
        std::fs::write(&file, script).unwrap();
        let size = [columns.to_string(), rows.to_string()];
        let line = format!("exec sh {}", file.display());
        terminal.tmux(&[
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            &line,
            ";",
            "set",
            "-g",
            "status",
            "off",
            ";",
            "set",
            "-g",
            "window-size",
            "manual",
        ]);
        terminal.resize(columns, rows);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let out = Command::new("tmux")
            .args(["-u", "-L", &self.server, "-f", "/dev/null"])
            .args(args)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        assert!(out.status.success(), "tmux {args:?}: {out:?}");
        out
    }

    fn tmux_stdout(&self, args: &[&str]) -> String {
        String::from_utf8(self.tmux(args).stdout).unwrap()
    }

    /// Sends keys by their tmux names.
    pub(crate) fn press(&self, keys: &[&str]) {
        for key in keys {
            self.tmux(&["send-keys", key]);
        }
    }

    /// Sends escape and waits until a text has disappeared: a key directly after escape would be read as
    /// Alt and that key.
    pub(crate) fn escape(&self, gone: &str) {
        self.press(&["Escape"]);
        self.wait_until(&format!("no {gone}"), |screen| !screen.contains(gone));
    }

    /// Types text literally.
    pub(crate) fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&[
            "resize-window",
            "-x",
            &columns.to_string(),
            "-y",
            &rows.to_string(),
        ]);
    }

    /// The content of the screen as text.
    pub(crate) fn screen(&self) -> String {
        self.tmux_stdout(&["capture-pane", "-p"])
    }

    /// The content of the screen with color sequences.
    pub(crate) fn coloured(&self) -> String {
        self.tmux_stdout(&["capture-pane", "-p", "-e"])
    }

    /// Whether the program uses the alternate screen.
    pub(crate) fn in_alternate_screen(&self) -> bool {
        self.tmux_stdout(&["display-message", "-p", "#{alternate_on}"])
            .trim()
            == "1"
    }

    /// Whether the cursor is visible.
    pub(crate) fn cursor_shows(&self) -> bool {
        self.tmux_stdout(&["display-message", "-p", "#{cursor_flag}"])
            .trim()
            == "1"
    }

    /// Waits until the screen satisfies a condition; returns the screen.
    pub(crate) fn wait_until(&self, what: &str, good: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if good(&screen) {
                return screen;
            }
            assert!(
                started.elapsed() < TIMEOUT,
                "never seen: {what}; the screen is\n{screen}"
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until the screen contains some text.
    pub(crate) fn wait_for_text(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits for the exit of the command; asserts that the terminal is restored.
    pub(crate) fn assert_exited(&self, code: &str) -> String {
        let screen = self.wait_for_text(&format!("ended with {code}"));
        self.wait_for_text("restored");
        assert!(screen.contains("shell-before"), "{screen}");
        assert!(!self.in_alternate_screen() && self.cursor_shows());
        screen
    }

    /// Sends a signal to the process with this name.
    pub(crate) fn signal(&self, signal: &str, name: &str) {
        let shell = self.tmux_stdout(&["display-message", "-p", "#{pane_pid}"]);
        let found = Command::new("ps")
            .args(["-o", "pid=,comm=", "--ppid", shell.trim()])
            .output()
            .unwrap();
        let list = String::from_utf8(found.stdout).unwrap();
        let line = list.lines().find(|l| l.contains(name));
        let pid = line.and_then(|l| l.split_whitespace().next()).unwrap();
        let sent = Command::new("kill").args([signal, pid]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for TmuxPane {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .args(["-L", &self.server, "kill-server"])
            .output();
    }
}
