//! The builtins that change the shell.

use kueue_lab_shell::arithmetic;

use super::state::{Flow, Shell};
use crate::filesystem::normalize;
use crate::streams::{Closed, Streams};
use kueue_lab_shell::syntax::Dialect;

impl Shell {
    /// Executes a builtin; `None` if `name` is none.
    pub(super) async fn run_builtin(
        &mut self,
        name: &str,
        arguments: &[String],
        streams: &Streams,
    ) -> Option<Flow> {
        let count = || {
            let first = arguments.first().and_then(|a| a.parse::<u32>().ok());
            first.unwrap_or(1).max(1)
        };
        self.status = match name {
            ":" | "trap" | "umask" | "ulimit" | "alias" | "unalias" | "hash" | "shopt"
            | "disown" | "bg" | "fg" => 0,
            "cd" => self.change_directory(arguments, streams).await.unwrap_or(1),
            "export" | "readonly" | "local" | "declare" | "typeset" => {
                self.declare(name, arguments, streams).await.unwrap_or(1)
            }
            "unset" => {
                for name in arguments.iter().filter(|a| !a.starts_with('-')) {
                    self.unset(name);
                    self.functions.remove(name);
                }
                0
            }
            "set" => self.set_options(arguments, streams).await.unwrap_or(1),
            "shift" => {
                let count = count() as usize;
                match count <= self.positional.len() {
                    true => {
                        self.positional.drain(..count);
                        0
                    }
                    false => 1,
                }
            }
            "break" => {
                self.status = 0;
                return Some(Flow::Break(count()));
            }
            "continue" => {
                self.status = 0;
                return Some(Flow::Continue(count()));
            }
            "exit" | "return" => {
                let code = arguments.first().map(|code| code.parse::<i32>());
                self.status = match code {
                    None => self.status,
                    Some(Ok(code)) => code & 0xff,
                    Some(Err(_)) => 2,
                };
                return Some(match name {
                    "exit" => Flow::Exit,
                    _ => Flow::Return,
                });
            }
            "read" => self.read_variables(arguments, streams).await.unwrap_or(1),
            "eval" => {
                let text = arguments.join(" ");
                self.status = 0;
                return Some(Box::pin(self.run_text(&text, streams)).await);
            }
            "." | "source" => return Some(self.source(arguments, streams).await),
            "exec" => {
                if arguments.is_empty() {
                    self.status = 0;
                    return Some(Flow::Next);
                }
                self.run_program(arguments, streams).await;
                return Some(Flow::Exit);
            }
            "command" | "builtin" => {
                return match arguments.first().map(String::as_str) {
                    Some("-v" | "-V") => {
                        self.status = self.find(name, &arguments[1..], streams).await.unwrap_or(1);
                        Some(Flow::Next)
                    }
                    Some(_) => {
                        let arguments = arguments.to_vec();
                        self.functions.remove(&arguments[0]);
                        Some(Box::pin(self.run_words(&arguments, streams)).await)
                    }
                    None => Some(Flow::Next),
                };
            }
            "type" => self.find(name, arguments, streams).await.unwrap_or(1),
            "let" if self.dialect == Dialect::Bash => {
                let mut value = 0;
                for expression in arguments {
                    value = arithmetic(self, expression);
                }
                i32::from(value == 0)
            }
            "wait" => self.wait(arguments).await,
            "jobs" => 0,
            "getopts" => 1,
            _ => return None,
        };
        Some(Flow::Next)
    }

    async fn change_directory(
        &mut self,
        arguments: &[String],
        streams: &Streams,
    ) -> Result<i32, Closed> {
        let home = || self.get("HOME").unwrap_or_else(|| "/".into());
        let arguments: Vec<&String> = arguments.iter().filter(|a| *a != "--").collect();
        let target = match arguments.first().map(|a| a.as_str()) {
            None | Some("~") => home(),
            Some("-") => self.get("OLDPWD").unwrap_or_else(home),
            Some(path) => path.to_owned(),
        };
        let files = self.container().files();
        let system = self.container().system();
        if !system.has_image() && files.stat(&self.directory, &target).is_err() {
            let _ = files.create_directories(&self.directory, &target, system.now());
        }
        match files.stat(&self.directory, &target) {
            Ok(entry) if entry.is_directory() => {
                let directory = normalize(&self.directory, &target);
                if arguments.first().is_some_and(|a| *a == "-") {
                    streams.stdout.line(&directory).await?;
                }
                let before = std::mem::replace(&mut self.directory, directory);
                self.set("OLDPWD", before);
                Ok(0)
            }
            found => {
                let why = match (self.dialect, found) {
                    (Dialect::Posix, _) => format!("can't cd to {target}"),
                    (_, Ok(_)) => format!("{target}: Not a directory"),
                    (_, Err(error)) => format!("{target}: {error}"),
                };
                let message = format!("{}cd: {why}", self.prefix());
                streams.stderr.line(message).await?;
                Ok(if self.dialect == Dialect::Posix { 2 } else { 1 })
            }
        }
    }

    async fn declare(
        &mut self,
        command: &str,
        arguments: &[String],
        streams: &Streams,
    ) -> Result<i32, Closed> {
        let is_list = arguments.is_empty() || arguments == ["-p"];
        if is_list && command == "export" {
            for (name, value) in self.environment() {
                streams
                    .stdout
                    .line(format!("export {name}='{value}'"))
                    .await?;
            }
        }
        for argument in arguments.iter().filter(|a| !a.starts_with('-')) {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let is_name = !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !is_name {
                let message = format!("{}{command}: {argument}: bad variable name", self.prefix());
                streams.stderr.line(message).await?;
                return Ok(2);
            }
            match command {
                "export" => self.export(name, value),
                _ => {
                    let value = value.or_else(|| self.get(name)).unwrap_or_default();
                    self.set(name, value);
                    if command == "readonly" {
                        self.variables.entry(name.to_owned()).or_default().read_only = true;
                    }
                }
            }
        }
        Ok(0)
    }

    async fn set_options(
        &mut self,
        arguments: &[String],
        streams: &Streams,
    ) -> Result<i32, Closed> {
        if arguments.is_empty() {
            for (name, variable) in &self.variables {
                streams
                    .stdout
                    .line(format!("{name}='{}'", variable.value))
                    .await?;
            }
            return Ok(0);
        }
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some((sign, letters)) = argument
                .split_at_checked(1)
                .filter(|(sign, letters)| matches!(*sign, "-" | "+") && !letters.is_empty())
            else {
                self.positional = std::iter::once(argument).chain(rest).cloned().collect();
                return Ok(0);
            };
            if argument == "--" {
                self.positional = rest.cloned().collect();
                return Ok(0);
            }
            let on = sign == "-";
            for letter in letters.chars() {
                match letter {
                    'e' => self.options.errexit = on,
                    'u' => self.options.nounset = on,
                    'f' => self.options.noglob = on,
                    'x' => self.options.xtrace = on,
                    'o' => match rest.next().map(String::as_str) {
                        Some("pipefail") => self.options.pipefail = on,
                        Some("errexit") => self.options.errexit = on,
                        Some("nounset") => self.options.nounset = on,
                        Some("xtrace") => self.options.xtrace = on,
                        _ => {}
                    },
                    _ => {}
                }
            }
        }
        Ok(0)
    }

    async fn read_variables(
        &mut self,
        arguments: &[String],
        streams: &Streams,
    ) -> Result<i32, Closed> {
        let mut names = Vec::new();
        let mut raw = false;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "-p" => {
                    if let Some(prompt) = rest.next() {
                        streams.stderr.write(prompt).await?;
                    }
                }
                "-t" | "-n" | "-d" | "-u" => drop(rest.next()),
                option if option.starts_with('-') => raw |= option.contains('r'),
                name => names.push(name),
            }
        }
        let Some(line) = streams.stdin.read_line().await else {
            for name in names {
                self.set(name, String::new());
            }
            return Ok(1);
        };
        self.lines_read += 1;
        let mut line = String::from_utf8_lossy(&line).into_owned();
        let complete = line.ends_with('\n');
        line.truncate(line.trim_end_matches('\n').len());
        if !raw {
            line = line.replace('\\', "");
        }
        let separators = self.get("IFS").unwrap_or_else(|| " \t\n".into());
        let is_separator = |c: char| separators.contains(c);
        let is_space = |c: char| is_separator(c) && c.is_whitespace();
        let mut text = line.trim_matches(is_space);
        if names.is_empty() {
            names.push("REPLY");
        }
        let last = names.len() - 1;
        for (index, name) in names.into_iter().enumerate() {
            let (value, next) = match text.find(is_separator) {
                Some(at) if index < last => {
                    let width = text[at..].chars().next().map_or(0, char::len_utf8);
                    (&text[..at], text[at + width..].trim_start_matches(is_space))
                }
                _ => (text, ""),
            };
            self.set(name, value.to_owned());
            text = next;
        }
        Ok(i32::from(!complete))
    }

    async fn source(&mut self, arguments: &[String], streams: &Streams) -> Flow {
        let Some((path, rest)) = arguments.split_first() else {
            self.status = 2;
            return Flow::Next;
        };
        match self.container().files().read(&self.directory, path) {
            Ok(data) => {
                let text = String::from_utf8_lossy(&data).into_owned();
                let positional = self.positional.clone();
                if !rest.is_empty() {
                    self.positional = rest.to_vec();
                }
                self.status = 0;
                let flow = Box::pin(self.run_text(&text, streams)).await;
                self.positional = positional;
                match flow {
                    Flow::Exit => Flow::Exit,
                    _ => Flow::Next,
                }
            }
            Err(error) => {
                let message = format!("{}{path}: {error}", self.prefix());
                let _ = streams.stderr.line(message).await;
                self.status = 1;
                Flow::Next
            }
        }
    }

    /// `command -v` and `type`.
    async fn find(
        &mut self,
        command: &str,
        names: &[String],
        streams: &Streams,
    ) -> Result<i32, Closed> {
        let mut status = 0;
        for name in names.iter().filter(|name| !name.starts_with('-')) {
            let search_path = self.get("PATH").unwrap_or_default();
            let path = self.container().find_program(name, &search_path);
            let is_builtin = BUILTINS.contains(&name.as_str());
            let text = match (command, path) {
                ("type", _) if self.functions.contains_key(name) => {
                    format!("{name} is a function")
                }
                ("type", _) if is_builtin => format!("{name} is a shell builtin"),
                ("type", Some(path)) => format!("{name} is {path}"),
                ("type", None) => {
                    status = 127;
                    format!("{name}: not found")
                }
                _ if self.functions.contains_key(name) || is_builtin => name.clone(),
                (_, Some(path)) => path,
                (_, None) => {
                    status = if self.dialect == Dialect::Posix {
                        127
                    } else {
                        1
                    };
                    continue;
                }
            };
            streams.stdout.line(text).await?;
        }
        Ok(status)
    }

    async fn wait(&mut self, arguments: &[String]) -> i32 {
        let wanted: Vec<u32> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
        let mut status = 0;
        let jobs = std::mem::take(&mut self.jobs);
        for (pid, mut job) in jobs {
            if !wanted.is_empty() && !wanted.contains(&pid) {
                self.jobs.push((pid, job));
                continue;
            }
            let code = match job.wait_for(Option::is_some).await {
                Ok(code) => code.unwrap_or(0),
                Err(_) => 143,
            };
            if !wanted.is_empty() {
                status = code;
            }
        }
        status
    }
}

/// The builtins, for `type`.
const BUILTINS: [&str; 24] = [
    ".", ":", "break", "cd", "command", "continue", "eval", "exec", "exit", "export", "local",
    "read", "readonly", "return", "set", "shift", "source", "trap", "type", "ulimit", "umask",
    "unset", "wait", "alias",
];
