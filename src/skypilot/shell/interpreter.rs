//! Interprets a shell script and records its visible effects: output, waits and exit. Unknown
//! commands succeed at once without output.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::arithmetic::Variables;
use super::budget::{Budget, OVERHEAD, ScriptLimits};
use super::expansion;
use super::syntax::{
    AndOr, AssignedValue, BRACE_LETTERS, Command, Connector, Dialect, List, Pipeline, Redirect,
    RedirectKind, SimpleCommand, parse_leniently,
};
use kueue_lab_container_program::Step;

/// Environment variables.
pub type Environment = BTreeMap<String, String>;

/// Commands that are also interpreted outside of a script.
pub(super) const BUILTINS: [&str; 13] = [
    "sleep", "echo", "true", "false", "printf", "date", "hostname", "env", "printenv", "seq",
    "timeout", "ray", "sshd",
];
/// Maximum nesting depth.
pub(super) const DEPTH: usize = 40;
/// The exit code of a script that a limit ended, as of a process that was killed.
const KILLED: i32 = 137;

/// The steps of a script.
pub(super) fn run(
    script: &str,
    dialect: Dialect,
    environment: &Environment,
    strict: bool,
    limits: ScriptLimits,
) -> Vec<Step> {
    let mut shell = Shell::new(Rc::new(environment.clone()), dialect, 0);
    shell.budget = Budget::new(limits);
    shell.errexit = strict;
    shell.script(script);
    shell.into_steps()
}

/// The steps of one command.
pub(super) fn single(words: &[&str], environment: &Environment, limits: ScriptLimits) -> Vec<Step> {
    let mut shell = Shell::new(Rc::new(environment.clone()), Dialect::Posix, 0);
    shell.budget = Budget::new(limits);
    shell.command_words(words);
    shell.into_steps()
}

/// The state of a shell.
pub(super) struct Shell {
    /// Shared with the shell of which this one is a substitution, until one of them changes it.
    pub(super) variables: Rc<Environment>,
    pub(super) steps: Vec<Step>,
    /// The exit code of the last command.
    pub(super) status: i32,
    /// Whether it has exited or hangs.
    pub(super) exited: bool,
    /// Whether it is leaving a loop (`break`).
    pub(super) breaking: bool,
    /// Whether it skips to the next iteration of a loop (`continue`).
    pub(super) continuing: bool,
    /// Whether it skips to the end of a function (`return`).
    pub(super) returning: bool,
    /// Output of the line that has no line feed yet.
    pub(super) line: String,
    /// The input of the command, as far as it is in the script.
    pub(super) input: Option<String>,
    /// The files that redirections created.
    pub(super) files: BTreeSet<String>,
    /// `set -e`: exit at the first command that fails.
    pub(super) errexit: bool,
    pub(super) functions: Rc<HashMap<String, Arc<Command>>>,
    pub(super) dialect: Dialect,
    pub(super) depth: usize,
    /// The remaining part of [`BRACE_LETTERS`].
    pub(super) brace_letters: usize,
    pub(super) budget: Budget,
}

impl Shell {
    fn new(variables: Rc<Environment>, dialect: Dialect, depth: usize) -> Self {
        Self {
            variables,
            steps: Vec::new(),
            status: 0,
            exited: false,
            breaking: false,
            continuing: false,
            returning: false,
            line: String::new(),
            input: None,
            files: BTreeSet::new(),
            errexit: false,
            functions: Rc::default(),
            dialect,
            depth,
            brace_letters: BRACE_LETTERS,
            budget: Budget::default(),
        }
    }

    /// The steps, with the explanation of a limit that ended the script.
    fn into_steps(mut self) -> Vec<Step> {
        self.end_line();
        if let Some(line) = self.budget.explanation() {
            self.steps.truncate(self.budget.steps());
            self.steps.extend([Step::Print(line), Step::Exit(KILLED)]);
        }
        self.steps
    }

    /// Runs an inner shell with the variables and the budget of this one.
    pub(super) fn inner(&mut self, dialect: Dialect, run: impl FnOnce(&mut Self)) -> Self {
        let mut inner = Self::new(self.variables.clone(), dialect, self.depth + 1);
        inner.budget = std::mem::take(&mut self.budget);
        inner.brace_letters = self.brace_letters;
        inner.files = std::mem::take(&mut self.files);
        run(&mut inner);
        self.files = std::mem::take(&mut inner.files);
        self.budget = std::mem::take(&mut inner.budget);
        self.brace_letters = inner.brace_letters;
        self.exited |= self.budget.is_exceeded();
        inner
    }

    /// Spends bytes of the budget. False, and the script ends, if there are not enough left.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        let is_within = self.budget.spend(bytes);
        self.exited |= !is_within;
        is_within
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: String) {
        if Rc::strong_count(&self.variables) > 1 {
            let all = self.variables.iter();
            let size: usize = all.map(|(k, v)| k.len() + v.len() + 2 * OVERHEAD).sum();
            self.spend(size);
        }
        if self.spend(name.len() + value.len() + 2 * OVERHEAD) {
            Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
        }
    }

    pub(super) fn script(&mut self, script: &str) {
        if !self.spend(script.len()) {
            return;
        }
        match parse_leniently(script, self.dialect) {
            Ok(list) => {
                self.list(&list);
                self.close();
            }
            Err(_) => {
                self.budget.exceed("script-bytes");
                self.exited = true;
            }
        }
    }

    /// Executes one command, and exits with its code.
    pub(super) fn command_words(&mut self, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        self.simple_command(&words);
        self.close();
    }

    /// Exits with the code of the last command.
    fn close(&mut self) {
        if !self.exited && self.status != 0 {
            self.end_line();
            self.steps.push(Step::Exit(self.status));
        }
    }

    /// Ends the line of output without a line feed.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.steps.push(Step::Print(line));
        }
    }

    /// Prints a text, the last line of which can be continued.
    pub(super) fn print(&mut self, text: &str) {
        let mut lines = text.split('\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            self.step(Step::Print(line.to_owned()));
        }
        if !self.is_skipping() && self.spend(last.len()) {
            self.line.push_str(last);
        }
    }

    pub(super) fn is_skipping(&self) -> bool {
        self.exited || self.breaking || self.continuing || self.returning
    }

    pub(super) fn step(&mut self, mut step: Step) {
        if self.is_skipping() {
            return;
        }
        match &mut step {
            Step::Print(line) => line.insert_str(0, &std::mem::take(&mut self.line)),
            Step::Exit(_) | Step::Hang => self.end_line(),
            _ => {}
        }
        self.exited |= matches!(step, Step::Exit(_) | Step::Hang);
        if let Step::Print(line) = &step
            && !self.budget.spend(line.len() + OVERHEAD)
        {
            self.exited = true;
        } else if self.steps.len() < self.budget.steps() {
            self.steps.push(step);
        } else {
            self.budget.exceed("script-steps");
            self.exited = true;
        }
    }

    /// Executes commands one after the other, those in the background too.
    pub(super) fn list(&mut self, list: &List) {
        for (item, _) in &list.items {
            if self.is_skipping() {
                return;
            }
            self.and_or(item);
        }
    }

    /// Executes commands joined by `&&` and `||`.
    fn and_or(&mut self, item: &AndOr) {
        self.pipeline(&item.first);
        for (connector, pipeline) in &item.rest {
            if (self.status == 0) == (*connector == Connector::And) {
                self.pipeline(pipeline);
            }
        }
        let is_checked = item.rest.is_empty() && !item.first.negated;
        if self.errexit && self.status != 0 && is_checked {
            self.step(Step::Exit(self.status));
        }
    }

    /// Executes commands joined by `|` one after the other.
    fn pipeline(&mut self, pipeline: &Pipeline) {
        let strict = self.errexit;
        self.errexit &= !pipeline.negated;
        for command in &pipeline.commands {
            self.command(command);
        }
        if pipeline.negated {
            self.errexit = strict;
            self.status = i32::from(self.status == 0);
        }
    }

    pub(super) fn command(&mut self, command: &Command) {
        if self.is_skipping() {
            return;
        }
        if !self.budget.command() || self.depth > DEPTH {
            self.exited = true;
            return;
        }
        self.depth += 1;
        match command {
            Command::Simple(command) => {
                self.redirected(&command.redirects, |shell| shell.words(command));
            }
            Command::Compound(compound, redirects) => {
                self.redirected(redirects, |shell| shell.compound(compound));
            }
            Command::Function(name, body) => {
                if self.spend(name.len() + OVERHEAD) {
                    Rc::make_mut(&mut self.functions).insert(name.clone(), body.clone());
                }
            }
        }
        self.depth -= 1;
    }

    /// Executes a command whose output may go to a file.
    fn redirected(&mut self, redirects: &[Redirect], run: impl FnOnce(&mut Self)) {
        let input = redirects.iter().find_map(|redirect| match &redirect.kind {
            RedirectKind::HereDocument(text) => text.get().cloned(),
            RedirectKind::HereString(word) => Some(word.clone()),
            _ => None,
        });
        if let Some(word) = input {
            self.input = Some(self.word_text(&word).trim_end_matches('\n').to_owned());
        }
        let targets =
            redirects
                .iter()
                .filter_map(|redirect| match (&redirect.kind, redirect.descriptor) {
                    (RedirectKind::Write(word) | RedirectKind::Append(word), None | Some(1)) => {
                        Some(word)
                    }
                    (RedirectKind::WriteBoth(word), _) => Some(word),
                    _ => None,
                });
        let mut file = None;
        for word in targets {
            file = Some(self.word_text(word));
        }
        let is_output = |path: &str| matches!(path, "/dev/stdout" | "/dev/stderr" | "/dev/tty");
        let Some(path) = file.filter(|path| !is_output(path)) else {
            return run(self);
        };
        let (line, first) = (std::mem::take(&mut self.line), self.steps.len());
        run(self);
        let steps = self.steps.split_off(first.min(self.steps.len()));
        self.steps.extend(without_output(steps));
        self.line = line;
        if path != "/dev/null" && self.spend(path.len() + OVERHEAD) {
            self.files.insert(path);
        }
    }

    /// Executes a command before the expansion of its words.
    fn words(&mut self, command: &SimpleCommand) {
        for assignment in &command.assignments {
            let mut value = match &assignment.value {
                AssignedValue::Text(word) => self.word_text(word),
                AssignedValue::Elements(elements) => {
                    let mut values = Vec::new();
                    for element in elements {
                        expansion::expand(self, element, &mut values);
                    }
                    values.join(" ")
                }
            };
            if assignment.appends {
                let separator = match assignment.value {
                    AssignedValue::Text(_) => "",
                    AssignedValue::Elements(_) => " ",
                };
                let before = self.value(&assignment.name);
                if !self.spend(before.len()) {
                    return;
                }
                value = format!("{before}{separator}{value}");
            }
            self.set(&assignment.name, value);
        }
        let mut words = Vec::new();
        for word in &command.words {
            if !self.spend(1) {
                return;
            }
            expansion::expand(self, word, &mut words);
        }
        if command.words.is_empty() {
            self.status = 0;
        } else if !self.is_skipping() {
            self.simple_command(&words);
        }
    }

    /// The value of a variable that is set.
    pub(super) fn known_value(&self, name: &str) -> Option<String> {
        match name {
            "?" | "$" => Some(self.value(name)),
            _ => self.variables.get(name).cloned(),
        }
    }

    /// Appends the steps of an inner shell, whose exit code is the status.
    pub(super) fn steps_of_shell(&mut self, inner: Self) {
        self.status = inner.status;
        self.steps_of(inner.steps);
        if !self.is_skipping() {
            self.line.push_str(&inner.line);
        }
    }

    /// Appends steps, whose exit code is the status.
    pub(super) fn steps_of(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Exit(code) => self.status = code,
                step => self.step(step),
            }
        }
    }
}

/// Steps of a command whose output goes to a file.
fn without_output(steps: Vec<Step>) -> Vec<Step> {
    let steps = steps.into_iter().filter_map(|step| match step {
        Step::Print(_) => None,
        Step::Loop(body) => Some(Step::Loop(without_output(body))),
        step => Some(step),
    });
    steps.collect()
}

impl Variables for Shell {
    fn value(&self, name: &str) -> String {
        match name {
            "?" => self.status.to_string(),
            "$" => "1".into(),
            _ => self.variables.get(name).cloned().unwrap_or_default(),
        }
    }

    fn assign(&mut self, name: String, value: String) {
        self.set(&name, value);
    }
}
