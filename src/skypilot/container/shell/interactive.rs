//! The programs `sh` and `bash`: `-c`, script files, and commands from the standard input.

use super::state::{Flow, Shell};
use crate::filesystem::file_name;
use crate::streams::{Closed, Streams};
use kueue_lab_shell::syntax::{Dialect, ParseError, parse};

/// Maximum size of a command with its continuation lines, in bytes.
const COMMAND: usize = 1 << 20;

impl Shell {
    /// Runs a shell with these arguments; the first one is its name.
    pub(crate) async fn run_shell(
        &self,
        words: &[String],
        streams: &Streams,
    ) -> Result<i32, Closed> {
        let mut shell = self.child();
        let name = words.first().map_or("sh", String::as_str);
        shell.name = name.to_owned();
        shell.dialect = Dialect::of(file_name(name));
        let mut arguments = words.iter().skip(1).peekable();
        let (mut command, mut is_interactive, mut from_stdin) = (false, false, false);
        while let Some(option) = arguments.next_if(|a| a.starts_with(['-', '+']) && a.len() > 1) {
            if option == "--" {
                break;
            }
            if let Some(long) = option.strip_prefix("--") {
                if matches!(long, "rcfile" | "init-file") {
                    arguments.next();
                }
                continue;
            }
            let on = option.starts_with('-');
            for letter in option.chars().skip(1) {
                match letter {
                    'c' => command = true,
                    'i' => is_interactive = true,
                    's' => from_stdin = true,
                    'e' => shell.options.errexit = on,
                    'u' => shell.options.nounset = on,
                    'x' => shell.options.xtrace = on,
                    'f' => shell.options.noglob = on,
                    'o' if arguments.next().is_some_and(|o| o == "pipefail") => {
                        shell.options.pipefail = on;
                    }
                    _ => {}
                }
            }
        }
        if command {
            let Some(script) = arguments
                .next_if_eq(&&"--".to_owned())
                .and_then(|_| arguments.next())
                .or_else(|| arguments.next())
            else {
                let message = format!("{}-c: option requires an argument", shell.prefix());
                streams.stderr.line(message).await?;
                return Ok(2);
            };
            if let Some(name) = arguments.next() {
                shell.name = name.clone();
            }
            shell.positional = arguments.cloned().collect();
            return Ok(shell.run_all(script, streams).await);
        }
        if let Some(path) = arguments.next().filter(|_| !from_stdin) {
            let files = shell.container().files();
            return match files.read(&shell.directory, path) {
                Ok(data) => {
                    shell.name = path.clone();
                    shell.positional = arguments.cloned().collect();
                    let script = String::from_utf8_lossy(&data).into_owned();
                    Ok(shell.run_all(&script, streams).await)
                }
                Err(error) => {
                    let message = format!("{}cannot open {path}: {error}", shell.prefix());
                    streams.stderr.line(message).await?;
                    Ok(2)
                }
            };
        }
        shell.positional = arguments.cloned().collect();
        shell.interactive = is_interactive || streams.stdout.is_terminal();
        shell.run_commands(streams).await
    }

    /// Parses and executes a complete script. Returns the exit code.
    async fn run_all(&mut self, script: &str, streams: &Streams) -> i32 {
        self.run_text(script, streams).await;
        self.status
    }

    /// Reads commands from the standard input and executes each one when it is complete.
    async fn run_commands(&mut self, streams: &Streams) -> Result<i32, Closed> {
        let mut text = String::new();
        self.line = 0;
        loop {
            if self.interactive {
                let prompt = if text.is_empty() {
                    self.prompt()
                } else {
                    "> ".into()
                };
                streams.stderr.write(prompt).await?;
            }
            let line = tokio::select! {
                line = streams.stdin.read_line() => line,
                () = self.interrupted() => {
                    text.clear();
                    streams.stdout.write("\n").await?;
                    continue;
                }
            };
            self.line += 1;
            let is_end = line.is_none();
            text.push_str(&String::from_utf8_lossy(&line.unwrap_or_default()));
            if is_end && text.is_empty() {
                if self.interactive && streams.stdout.is_terminal() {
                    streams.stdout.line("exit").await?;
                }
                return Ok(self.status);
            }
            let list = match parse(&text, self.dialect) {
                Err(ParseError::Incomplete) if !is_end && text.len() < COMMAND => continue,
                Err(error) => {
                    text.clear();
                    let message = self.syntax_error(&error);
                    streams.stderr.line(message).await?;
                    self.status = 2;
                    if !self.interactive {
                        return Ok(2);
                    }
                    continue;
                }
                Ok(list) => list,
            };
            text.clear();
            let mut interrupts = self
                .terminal
                .as_ref()
                .map(|(interrupts, _)| interrupts.clone());
            let interrupted = async {
                if let Some(interrupts) = &mut interrupts
                    && interrupts.changed().await.is_ok()
                {
                    return;
                }
                std::future::pending().await
            };
            let flow = tokio::select! {
                flow = self.run_list(&list, streams) => Some(flow),
                () = interrupted => None,
            };
            match flow {
                Some(Flow::Exit) => return Ok(self.status),
                Some(_) => {}
                None => {
                    if let Some((interrupts, _)) = &mut self.terminal {
                        interrupts.mark_unchanged();
                    }
                    self.status = 130;
                    self.depth = 0;
                    self.tested = false;
                    streams.stdout.write("\n").await?;
                }
            }
        }
    }

    /// Completes at the next interrupt.
    async fn interrupted(&mut self) {
        if let Some((interrupts, _)) = &mut self.terminal
            && self.interactive
            && interrupts.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }

    fn prompt(&self) -> String {
        let config = self.container().config();
        let home = self.get("HOME").unwrap_or_default();
        let directory = match self.directory.strip_prefix(&home) {
            Some(rest) if home.len() > 1 && (rest.is_empty() || rest.starts_with('/')) => {
                format!("~{rest}")
            }
            _ => self.directory.clone(),
        };
        match self.dialect {
            Dialect::Bash => format!("root@{}:{directory}# ", config.hostname),
            Dialect::Posix if config.is_busybox => format!("{directory} # "),
            Dialect::Posix => "# ".into(),
        }
    }

    /// The message of a script that cannot be parsed.
    pub(super) fn syntax_error(&self, error: &ParseError) -> String {
        let prefix = self.prefix();
        match (self.dialect, error) {
            (_, ParseError::TooComplex) => format!("{prefix}script is too complex"),
            (Dialect::Posix, ParseError::Incomplete) => {
                format!("{prefix}Syntax error: end of file unexpected")
            }
            (Dialect::Posix, ParseError::Unexpected(token, line)) => {
                let name = file_name(&self.name);
                format!("{name}: {line}: Syntax error: \"{token}\" unexpected")
            }
            (Dialect::Bash, ParseError::Incomplete) => {
                format!("{prefix}syntax error: unexpected end of file")
            }
            (Dialect::Bash, ParseError::Unexpected(token, line)) => {
                let name = file_name(&self.name);
                format!("{name}: line {line}: syntax error near unexpected token `{token}'")
            }
        }
    }
}
