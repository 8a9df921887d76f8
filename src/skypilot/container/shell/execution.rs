//! Executes lists, pipelines and simple commands.

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::watch;

use super::arrays::Assigned;
use super::expansion::{ExpansionError, OUT_OF_SPACE};
use super::state::{Flow, Shell, words_size};
use crate::filesystem::{FileKind, file_name};
use crate::streams::{Streams, pipe};
use kueue_lab_shell::syntax::{
    AndOr, Command, Connector, Dialect, List, ParseError, Pipeline, SimpleCommand, parse,
    parse_leniently,
};

/// The exit code of a process that a limit ended.
const KILLED: i32 = 137;
impl Shell {
    /// Executes a command with its arguments as a process. Returns its exit code.
    pub(crate) async fn execute(&mut self, words: &[String], streams: &Streams) -> i32 {
        let _jobs = self.process.guard();
        self.run_program(words, streams).await;
        if let Some((limit, value)) = self.process.exceeded_limit() {
            let message = format!(
                "kueue-lab: the process ended, because the limit {limit} is {value} (kueue-lab up --limits)"
            );
            let _ = streams.stderr.line(message).await;
            self.status = KILLED;
        }
        self.status
    }

    /// Executes a list.
    pub(super) fn run_list<'a>(
        &'a mut self,
        list: &'a List,
        streams: &'a Streams,
    ) -> BoxFuture<'a, Flow> {
        async move {
            for (item, background) in &list.items {
                let flow = match background {
                    true => {
                        self.run_in_background(item, streams).await;
                        Flow::Next
                    }
                    false => self.run_and_or(item, streams).await,
                };
                if flow != Flow::Next {
                    return flow;
                }
            }
            Flow::Next
        }
        .boxed()
    }

    async fn run_in_background(&mut self, item: &AndOr, streams: &Streams) {
        let mut subshell = self.subshell();
        subshell.pid = self.container().next_pid();
        subshell.is_background = true;
        let (sender, receiver) = watch::channel(None);
        let (item, mut streams) = (item.clone(), streams.clone());
        // Background jobs do not read from the terminal.
        streams.stdin = crate::streams::Input::empty();
        let (pid, stderr) = (subshell.pid, streams.stderr.clone());
        let job = async move {
            subshell.run_and_or(&item, &streams).await;
            sender.send_replace(Some(subshell.status));
        };
        self.status = 0;
        match self.process.clone().spawn(job) {
            true => {
                self.background = Some(pid);
                self.jobs.push((pid, receiver));
                if self.interactive {
                    let number = self.jobs.len();
                    let _ = stderr.line(format!("[{number}] {pid}")).await;
                }
            }
            false => self.status = 2,
        }
    }

    async fn run_and_or(&mut self, item: &AndOr, streams: &Streams) -> Flow {
        let tested = self.tested;
        let last = item.rest.len();
        self.tested = tested || last > 0;
        let mut flow = self.run_pipeline(&item.first, streams).await;
        // `set -e` applies to the last pipeline only.
        let mut applies = last == 0 && !item.first.negated;
        for (index, (connector, pipeline)) in item.rest.iter().enumerate() {
            if flow != Flow::Next {
                break;
            }
            let wanted = match connector {
                Connector::And => self.status == 0,
                Connector::Or => self.status != 0,
            };
            applies = false;
            if wanted {
                self.tested = tested || index + 1 < last;
                flow = self.run_pipeline(pipeline, streams).await;
                applies = index + 1 == last && !pipeline.negated;
            }
        }
        self.tested = tested;
        if flow == Flow::Next && self.options.errexit && applies && !tested && self.status != 0 {
            return Flow::Exit;
        }
        flow
    }

    async fn run_pipeline(&mut self, pipeline: &Pipeline, streams: &Streams) -> Flow {
        let tested = self.tested;
        self.tested |= pipeline.negated;
        let flow = match &pipeline.commands[..] {
            [only] => self.run_command(only, streams).await,
            commands => {
                self.run_pipe(commands, streams).await;
                Flow::Next
            }
        };
        self.tested = tested;
        if pipeline.negated && flow == Flow::Next {
            self.status = i32::from(self.status == 0);
        }
        flow
    }

    /// Executes the commands of a pipeline at the same time, each in a subshell.
    async fn run_pipe(&mut self, commands: &[Command], streams: &Streams) {
        let process = self.process.clone();
        let Some(_permit) = process.pipeline(commands.len()) else {
            let message = format!("{}Cannot fork", self.prefix());
            let _ = streams.stderr.line(message).await;
            self.status = 2;
            return;
        };
        let mut stdin = streams.stdin.clone();
        let mut stages = Vec::with_capacity(commands.len());
        for (index, command) in commands.iter().enumerate() {
            let mut own = streams.clone();
            own.stdin = stdin;
            stdin = crate::streams::Input::empty();
            if index + 1 < commands.len() {
                let (output, input) = pipe();
                own.stdout = output;
                stdin = input;
            }
            let mut subshell = self.subshell();
            stages.push(async move {
                let streams = own;
                subshell.run_command(command, &streams).await;
                subshell.status
            });
        }
        let statuses = join_all(stages).await;
        let last = statuses.last().copied().unwrap_or(0);
        let failed = statuses.iter().rev().copied().find(|status| *status != 0);
        self.status = match self.options.pipefail {
            true => failed.unwrap_or(0),
            false => last,
        };
    }

    /// Executes a command.
    pub(super) fn run_command<'a>(
        &'a mut self,
        command: &'a Command,
        streams: &'a Streams,
    ) -> BoxFuture<'a, Flow> {
        async move {
            if self.is_too_deep() || !self.process.step().await {
                let _ = streams.stderr.line("Killed").await;
                self.status = KILLED;
                return Flow::Exit;
            }
            self.depth += 1;
            let flow = match command {
                Command::Simple(simple) => self.run_simple(simple, streams).await,
                Command::Compound(compound, redirects) => {
                    match self.redirect(redirects, streams).await {
                        Ok(streams) => self.run_compound(compound, &streams).await,
                        Err(error) => self.expansion_failed(&error, streams).await,
                    }
                }
                Command::Function(name, body) => {
                    self.functions.insert(name.clone(), body.clone());
                    self.status = 0;
                    Flow::Next
                }
            };
            self.depth -= 1;
            flow
        }
        .boxed()
    }

    /// Reports an expansion that failed; a shell that is not interactive exits.
    pub(super) async fn expansion_failed(
        &mut self,
        error: &ExpansionError,
        streams: &Streams,
    ) -> Flow {
        let message = format!("{}{}", self.prefix(), error.0);
        let _ = streams.stderr.line(message).await;
        self.status = match self.dialect {
            Dialect::Bash => 1,
            Dialect::Posix => 2,
        };
        // Only errors of parameters exit the shell.
        let fatal = ["not set", "unbound variable", "is read only", OUT_OF_SPACE];
        if error.0 == OUT_OF_SPACE && !self.container().system().has_image() {
            self.process.exhaust_memory();
        }
        let is_fatal = fatal.iter().any(|end| error.0.ends_with(end));
        match is_fatal && !self.interactive {
            true => Flow::Exit,
            false => Flow::Next,
        }
    }

    async fn run_simple(&mut self, command: &SimpleCommand, streams: &Streams) -> Flow {
        self.status_of_substitution(command);
        let expanded = match self.expand_words(&command.words, streams).await {
            Ok(words) => words,
            Err(error) => return self.expansion_failed(&error, streams).await,
        };
        let words = &expanded.words;
        let mut assignments = Vec::new();
        for assignment in &command.assignments {
            match self.expand_assignment(assignment, streams).await {
                Ok(assigned) => assignments.push(assigned),
                Err(error) => return self.expansion_failed(&error, streams).await,
            }
        }
        let redirected = match self.redirect(&command.redirects, streams).await {
            Ok(redirected) => redirected,
            Err(error) => return self.expansion_failed(&error, streams).await,
        };
        if self.options.xtrace && !words.is_empty() {
            let _ = streams.stderr.line(format!("+ {}", words.join(" "))).await;
        }
        if words.is_empty() {
            for assigned in assignments {
                let name = assigned.name().to_owned();
                if !self.assign_value(assigned) {
                    let error = match self.is_read_only(&name) {
                        true => ExpansionError(format!("{name}: is read only")),
                        false => ExpansionError(OUT_OF_SPACE.into()),
                    };
                    return self.expansion_failed(&error, streams).await;
                }
            }
            return Flow::Next;
        }
        // Assignments before a command are those of its environment.
        let texts = assignments.into_iter().filter_map(Assigned::into_text);
        let texts: Vec<_> = texts.collect();
        let saved: Vec<_> = texts
            .iter()
            .map(|(name, _)| (name.clone(), self.variables.get(name).cloned()))
            .collect();
        for (name, value) in texts {
            self.export(&name, Some(value));
        }
        let flow = self.run_words(words, &redirected).await;
        for (name, variable) in saved {
            match variable {
                Some(variable) => self.variables.insert(name, variable),
                None => self.variables.remove(&name),
            };
        }
        flow
    }

    /// An assignment without a command has the status of its command substitution, or 0.
    fn status_of_substitution(&mut self, command: &SimpleCommand) {
        if command.words.is_empty() {
            self.status = 0;
        }
    }

    /// Executes expanded words: a function, a builtin or a program.
    pub(super) async fn run_words(&mut self, words: &[String], streams: &Streams) -> Flow {
        let Some((name, arguments)) = words.split_first() else {
            return Flow::Next;
        };
        if let Some(body) = self.functions.get(name).cloned() {
            let mut reservation = self.process.reserve();
            if !reservation.grow(words_size(arguments)) {
                let _ = streams.stderr.line("Killed").await;
                self.status = KILLED;
                return Flow::Exit;
            }
            let outer = std::mem::replace(&mut self.positional, arguments.to_vec());
            let flow = self.run_command(&body, streams).await;
            self.positional = outer;
            return match flow {
                Flow::Exit => Flow::Exit,
                _ => Flow::Next,
            };
        }
        if let Some(flow) = self.run_builtin(name, arguments, streams).await {
            return flow;
        }
        self.run_program(words, streams).await;
        Flow::Next
    }

    /// Executes a program; sets the status.
    pub(crate) fn run_program<'a>(
        &'a mut self,
        words: &'a [String],
        streams: &'a Streams,
    ) -> BoxFuture<'a, ()> {
        async move {
            let Some(name) = words.first() else {
                self.status = 0;
                return;
            };
            if self.is_too_deep() || !self.process.step().await {
                let _ = streams.stderr.line("Killed").await;
                self.status = KILLED;
                return;
            }
            self.depth += 1;
            self.status = self.run_path(name, words, streams).await;
            self.depth -= 1;
        }
        .boxed()
    }

    async fn run_path(&mut self, name: &str, words: &[String], streams: &Streams) -> i32 {
        let container = self.container().clone();
        let find = |name: &str| {
            let search_path = self.get("PATH").unwrap_or_default();
            container.find_program(name, &search_path)
        };
        let path = match name.contains('/') {
            // The image may have the program at this path.
            true if !container.system().has_image()
                && !container.files().exists(&self.directory, name) =>
            {
                match find(file_name(name)) {
                    Some(path) => Some(path),
                    None => return 0,
                }
            }
            true => Some(name.to_owned()),
            false => find(name),
        };
        let Some(path) = path else {
            let why = match self.dialect {
                Dialect::Bash => "command not found",
                Dialect::Posix => "not found",
            };
            let _ = streams
                .stderr
                .line(format!("{}{name}: {why}", self.prefix()))
                .await;
            return 127;
        };
        let entry = match container.files().stat(&self.directory, &path) {
            Ok(entry) => entry,
            Err(error) => {
                let why = match self.dialect {
                    Dialect::Bash => error.to_string(),
                    Dialect::Posix => "not found".into(),
                };
                let _ = streams
                    .stderr
                    .line(format!("{}{name}: {why}", self.prefix()))
                    .await;
                return 127;
            }
        };
        let is_executable = entry.mode & 0o111 != 0;
        match entry.kind {
            FileKind::Program(program) if is_executable => {
                let run = self.process.run_program();
                let code = run(program, self, words, streams).await;
                return code.unwrap_or(141);
            }
            FileKind::File(data) if is_executable => {
                let script = String::from_utf8_lossy(&data).into_owned();
                return self.run_script(&path, &script, words, streams).await;
            }
            _ => {}
        }
        let why = match entry.is_directory() {
            true => "Is a directory",
            false => "Permission denied",
        };
        let _ = streams
            .stderr
            .line(format!("{}{name}: {why}", self.prefix()))
            .await;
        126
    }

    /// Executes an executable file, which is a script.
    async fn run_script(
        &mut self,
        path: &str,
        script: &str,
        words: &[String],
        streams: &Streams,
    ) -> i32 {
        let first = script.lines().next().unwrap_or_default();
        let interpreter = first.strip_prefix("#!").unwrap_or("/bin/sh").trim();
        let interpreter: Vec<&str> = interpreter.split_whitespace().collect();
        let program = match interpreter[..] {
            [env, program, ..] if file_name(env) == "env" => program,
            [program, ..] => program,
            [] => "/bin/sh",
        };
        let arguments = [program.to_owned(), path.to_owned()];
        let arguments = arguments.into_iter().chain(words.iter().skip(1).cloned());
        let arguments: Vec<String> = arguments.collect();
        let mut child = self.child();
        child.run_program(&arguments, streams).await;
        child.status
    }

    /// Parses and executes text in this shell.
    pub(super) async fn run_text(&mut self, text: &str, streams: &Streams) -> Flow {
        let parsed = match parse(text, self.dialect) {
            // The grammar has no process substitution.
            Err(_) if text.contains("<(") || text.contains(">(") => {
                parse_leniently(text, self.dialect)
            }
            parsed => parsed,
        };
        match parsed {
            Ok(list) => self.run_list(&list, streams).await,
            Err(error) => {
                if error == ParseError::TooComplex && !self.container().system().has_image() {
                    self.process.exhaust_memory();
                }
                let message = self.syntax_error(&error);
                let _ = streams.stderr.line(message).await;
                self.status = 2;
                Flow::Exit
            }
        }
    }
}
