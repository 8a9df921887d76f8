//! The commands that have an effect.

use std::rc::Rc;

use super::arithmetic::arithmetic;
use super::command::Interpreted;
use super::expansion;
use super::interpreter::{DEPTH, Shell};
use super::printf::{Printf, unescape};
use super::syntax::{Command, Dialect};
use super::test_expression;
use kueue_lab_container_program::{DEFAULT_DURATION, Step, duration};

impl Shell {
    /// Executes a command with expanded words.
    pub(super) fn simple_command(&mut self, words: &[String]) {
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some((name, value)) = words.peek().and_then(|w| w.split_once('=')) {
            let good = |c: char| c.is_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(good) {
                break;
            }
            self.set(name, value.into());
            words.next();
        }
        while words
            .next_if(|w| matches!(*w, "exec" | "time" | "nohup" | "command" | "sudo"))
            .is_some()
        {}
        let Some(command) = words.next() else {
            self.status = 0;
            return;
        };
        let arguments: Vec<&str> = words.collect();
        if let Some(body) = self.functions.get(command).cloned() {
            return self.call_function(&body, &arguments);
        }
        let before = std::mem::take(&mut self.status);
        match command.rsplit('/').next().unwrap_or_default() {
            "sleep" => self.sleep(&arguments),
            "echo" => {
                let is_option = |word: &&&str| matches!(**word, "-n" | "-e" | "-E" | "-ne" | "-en");
                let options = arguments.iter().take_while(is_option).count();
                let text = arguments[options..].join(" ");
                let escapes = arguments[..options].iter().any(|o| o.contains('e'));
                let text = match escapes {
                    true => unescape(&text).0,
                    false => text,
                };
                let has_line_feed = !arguments[..options].iter().any(|o| o.contains('n'));
                self.print(&text);
                if has_line_feed {
                    self.print("\n");
                }
            }
            "printf" => {
                let size: usize = arguments.iter().map(|a| a.len()).sum();
                let mut text = String::new();
                for round in Printf::new(arguments.iter().copied()) {
                    if !self.spend(2 * size + round.len()) {
                        return;
                    }
                    text.push_str(&round);
                }
                self.print(&text);
            }
            "seq" => {
                for number in expansion::seq(&arguments) {
                    self.step(Step::Print(number.to_string()));
                }
            }
            "hostname" => {
                let name = self.variables.get("HOSTNAME").cloned();
                self.step(Step::Print(name.unwrap_or_default()));
            }
            "env" | "printenv" if arguments.is_empty() => {
                let variables = self.variables.clone();
                let is_name = |name: &str| {
                    !name.starts_with(|c: char| "#@*".contains(c) || c.is_ascii_digit())
                };
                for (name, value) in variables.iter().filter(|(name, _)| is_name(name)) {
                    self.step(Step::Print(format!("{name}={value}")));
                }
            }
            "timeout" if self.enter_nested() => {
                let inner = arguments.iter().skip_while(|a| a.starts_with('-')).skip(1);
                let inner: Vec<String> = inner.map(|w| w.to_string()).collect();
                self.simple_command(&inner);
                self.depth -= 1;
            }
            "false" => self.status = 1,
            "let" => {
                for expression in &arguments {
                    self.status = i32::from(arithmetic(self, expression) == 0);
                }
            }
            "[" | "test" => {
                let without_bracket = match (command, arguments.split_last()) {
                    ("[", Some((&"]", rest))) => rest,
                    _ => &arguments[..],
                };
                let words: Vec<String> = without_bracket.iter().map(|w| w.to_string()).collect();
                self.status = test_expression::evaluate(self, &words).unwrap_or(2);
            }
            "set" => {
                self.errexit |= arguments
                    .iter()
                    .any(|a| a.starts_with('-') && a.contains('e'))
            }
            "export" | "local" | "readonly" if self.enter_nested() => {
                let all: Vec<String> = arguments.iter().map(|a| a.to_string()).collect();
                self.simple_command(&all);
                self.status = 0;
                self.depth -= 1;
            }
            "break" => self.breaking = !self.is_skipping(),
            "continue" => self.continuing = !self.is_skipping(),
            "exit" => {
                let code = arguments.first().and_then(|a| a.parse().ok());
                self.step(Step::Exit(code.unwrap_or(before)));
            }
            "return" => {
                let code = arguments.first().and_then(|a| a.parse().ok());
                self.status = code.unwrap_or(before);
                self.returning = true;
            }
            "cat" if arguments.is_empty() => {
                if let Some(text) = self.input.take() {
                    self.print(&format!("{text}\n"));
                }
            }
            "read" => self.read(&arguments),
            "unset" => {
                let names = arguments.iter().filter(|name| !name.starts_with('-'));
                for name in names {
                    Rc::make_mut(&mut self.variables).remove(*name);
                }
            }
            "sh" | "bash" => {
                let all: Vec<&str> = std::iter::once(command).chain(arguments).collect();
                if let Some((script, _)) = super::command::script(&all)
                    && self.depth < DEPTH
                {
                    let dialect = Dialect::of(command.rsplit('/').next().unwrap_or_default());
                    let inner = self.inner(dialect, |inner| inner.script(script));
                    self.steps_of_shell(inner);
                }
            }
            "ray" => self.ray(&arguments),
            "sshd" if arguments.iter().any(|a| a.starts_with("-D")) => self.step(Step::Hang),
            _ => {}
        }
    }

    /// Executes the body of a function with its positional parameters.
    fn call_function(&mut self, body: &Command, arguments: &[&str]) {
        /// The number of parameters that are set by their positions.
        const POSITIONS: usize = 9;
        let joined: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
        if !self.spend(joined) {
            return;
        }
        let mut parameters = vec![
            ("#".to_owned(), arguments.len().to_string()),
            ("@".to_owned(), arguments.join(" ")),
            ("*".to_owned(), arguments.join(" ")),
        ];
        for position in 0..POSITIONS {
            let value = arguments.get(position).copied().unwrap_or_default();
            parameters.push(((position + 1).to_string(), value.to_owned()));
        }
        let mut before = Vec::with_capacity(parameters.len());
        for (name, value) in parameters {
            before.push((name.clone(), self.variables.get(&name).cloned()));
            self.set(&name, value);
        }
        self.command(body);
        self.returning = false;
        for (name, value) in before {
            self.set(&name, value.unwrap_or_default());
        }
    }

    /// `read`: the next line of the input.
    fn read(&mut self, arguments: &[&str]) {
        let name = arguments.iter().rfind(|name| !name.starts_with('-'));
        let Some(input) = self.input.take() else {
            self.status = 1;
            return;
        };
        let (line, rest) = match input.split_once('\n') {
            Some((line, rest)) => (line, Some(rest.to_owned())),
            None => (input.as_str(), None),
        };
        self.input = rest;
        self.set(name.unwrap_or(&"REPLY"), line.trim().to_owned());
    }

    /// `ray start --block` and `ray kuberay-autoscaler` run forever; `ray job submit -- ENTRYPOINT` runs as long as the
    /// entrypoint.
    fn ray(&mut self, arguments: &[&str]) {
        match arguments {
            ["start", rest @ ..] if rest.contains(&"--block") => self.step(Step::Hang),
            ["kuberay-autoscaler", ..] => self.step(Step::Hang),
            ["job", "submit", rest @ ..] => {
                let after = rest.iter().skip_while(|a| **a != "--").skip(1);
                let entrypoint: Vec<&str> = after.copied().collect();
                let known = match entrypoint.first() {
                    None | Some(&"ray") => None,
                    Some(_) => self.entrypoint(&entrypoint),
                };
                self.steps_of(known.unwrap_or_else(|| vec![Step::Wait(DEFAULT_DURATION)]));
            }
            _ => {}
        }
    }

    /// The steps of the entrypoint of a Ray job; `None` if they cannot be derived.
    fn entrypoint(&mut self, words: &[&str]) -> Option<Vec<Step>> {
        if self.depth >= DEPTH || !self.budget.command() {
            return None;
        }
        let inner = match super::command::interpreted(words)? {
            Interpreted::Script {
                script,
                strict,
                dialect,
            } => self.inner(dialect, |inner| {
                inner.errexit = strict;
                inner.script(script);
            }),
            Interpreted::Command => self.inner(Dialect::Posix, |inner| inner.command_words(words)),
            Interpreted::Steps(steps) => return Some(steps),
        };
        Some(inner.steps)
    }

    fn sleep(&mut self, arguments: &[&str]) {
        let mut total = std::time::Duration::ZERO;
        for argument in arguments {
            if matches!(*argument, "infinity" | "inf") {
                return self.step(Step::Hang);
            }
            total = total.saturating_add(duration(argument).unwrap_or_default());
        }
        self.step(Step::Wait(total));
    }

    /// Enters a command in the arguments of another one. False if they are nested too deeply.
    fn enter_nested(&mut self) -> bool {
        let is_within = self.depth < DEPTH && self.budget.command();
        self.depth += usize::from(is_within);
        is_within
    }
}
