//! Interprets a shell script and records its visible effects: output, waits and exit. Unknown
//! commands succeed at once without output.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::arithmetic::{Variables, arithmetic};
use super::budget::{Budget, OVERHEAD, ScriptLimits};
use super::command::Interpreted;
use super::lexer::{Dialect, Token, WordPart, tokenize};
use super::program::{DEFAULT_DURATION, Step};
use super::{duration, expansion};

/// Environment variables.
pub type Environment = BTreeMap<String, String>;

/// Commands that are also interpreted outside of a script.
pub(super) const BUILTINS: [&str; 13] = [
    "sleep", "echo", "true", "false", "printf", "date", "hostname", "env", "printenv", "seq",
    "timeout", "ray", "sshd",
];
/// Iterations after which a loop counts as endless.
const ROUNDS: usize = 100;
/// Maximum nesting depth.
const DEPTH: usize = 40;
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
    variables: Rc<Environment>,
    pub(super) steps: Vec<Step>,
    /// The exit code of the last command.
    pub(super) status: i32,
    /// Whether it has exited or hangs.
    exited: bool,
    /// Whether it is leaving a loop (`break`).
    breaking: bool,
    /// Whether it skips to the next iteration of a loop (`continue`).
    continuing: bool,
    /// `set -e`: exit at the first command that fails.
    pub(super) errexit: bool,
    /// Parses commands without executing them.
    skipping: bool,
    functions: Rc<HashMap<String, Rc<[Token]>>>,
    dialect: Dialect,
    depth: usize,
    pub(super) budget: Budget,
}

/// A position in a list of tokens.
struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn plain(&self) -> Option<&'a str> {
        self.peek()?.plain()
    }

    fn is(&self, operator: &str) -> bool {
        matches!(self.peek(), Some(Token::Operator(o)) if *o == operator)
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.plain() == Some(word) || self.is(word);
        self.at += usize::from(found);
        found
    }

    fn skip_newlines(&mut self) {
        while self.is(";") || self.is("\n") {
            self.at += 1;
        }
    }
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
            errexit: false,
            skipping: false,
            functions: Rc::default(),
            dialect,
            depth,
            budget: Budget::default(),
        }
    }

    /// The steps, with the explanation of a limit that ended the script.
    fn into_steps(mut self) -> Vec<Step> {
        if let Some(line) = self.budget.explanation() {
            self.steps.truncate(self.budget.steps());
            self.steps.extend([Step::Print(line), Step::Exit(KILLED)]);
        }
        self.steps
    }

    /// Runs an inner shell with the variables and the budget of this one.
    fn inner(&mut self, dialect: Dialect, run: impl FnOnce(&mut Self)) -> Self {
        let mut inner = Self::new(self.variables.clone(), dialect, self.depth + 1);
        inner.budget = std::mem::take(&mut self.budget);
        run(&mut inner);
        self.budget = std::mem::take(&mut inner.budget);
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
    fn set(&mut self, name: &str, value: String) {
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
        let tokens = tokenize(script, self.dialect);
        let mut cursor = Cursor {
            tokens: &tokens,
            at: 0,
        };
        while cursor.peek().is_some() {
            self.list(&mut cursor, &[]);
            // An unmatched keyword.
            cursor.at += 1;
        }
        self.close();
    }

    /// Executes one command, and exits with its code.
    fn command_words(&mut self, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        self.simple_command(&words);
        self.close();
    }

    /// Exits with the code of the last command.
    fn close(&mut self) {
        if !self.exited && self.status != 0 {
            self.steps.push(Step::Exit(self.status));
        }
    }

    fn is_skipping(&self) -> bool {
        self.exited || self.breaking || self.continuing || self.skipping
    }

    fn step(&mut self, step: Step) {
        if self.is_skipping() {
            return;
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

    /// Executes commands up to one of the words, a parenthesis or the end.
    fn list(&mut self, cursor: &mut Cursor<'_>, until: &[&str]) {
        loop {
            cursor.skip_newlines();
            while cursor.accept("&")
                || cursor.accept("|")
                || cursor.accept("&&")
                || cursor.accept("||")
            {}
            cursor.skip_newlines();
            match cursor.peek() {
                None => return,
                Some(Token::Operator(")")) => return,
                Some(token) => {
                    let closing = ["done", "fi", "then", "else", "elif", "do", "}", "esac"];
                    let word = token.plain();
                    if word.is_some_and(|w| until.contains(&w) || closing.contains(&w)) {
                        return;
                    }
                }
            }
            self.and_or(cursor);
        }
    }

    /// Executes commands joined by `&&`, `||` and `|`.
    fn and_or(&mut self, cursor: &mut Cursor<'_>) {
        let passing = self.skipping;
        let mut joined = false;
        loop {
            self.command(cursor);
            while cursor.accept("|") {
                self.command(cursor);
            }
            let wanted = if cursor.accept("&&") {
                self.status == 0
            } else if cursor.accept("||") {
                self.status != 0
            } else {
                break;
            };
            joined = true;
            cursor.skip_newlines();
            self.skipping = passing || !wanted;
        }
        self.skipping = passing;
        if self.errexit && self.status != 0 && !joined {
            self.step(Step::Exit(self.status));
        }
    }

    fn command(&mut self, cursor: &mut Cursor<'_>) {
        if !self.budget.command() || self.depth > DEPTH {
            self.exited = true;
            cursor.at = cursor.tokens.len();
            return;
        }
        self.depth += 1;
        if let Some(Token::Arithmetic(expression)) = cursor.peek() {
            cursor.at += 1;
            if !self.is_skipping() && self.spend(expression.len()) {
                self.status = i32::from(arithmetic(self, expression) == 0);
            }
            self.depth -= 1;
            return;
        }
        match cursor.plain() {
            Some("for") => self.for_loop(cursor),
            Some(word @ ("while" | "until")) => self.while_loop(cursor, word == "while"),
            Some("if") => self.if_clause(cursor),
            Some("case") => {
                while cursor.peek().is_some() && !cursor.accept("esac") {
                    cursor.at += 1;
                    self.spend(1);
                }
            }
            Some("{") => {
                cursor.at += 1;
                self.list(cursor, &["}"]);
                cursor.accept("}");
            }
            Some("!") => {
                cursor.at += 1;
                let strict = std::mem::take(&mut self.errexit);
                self.command(cursor);
                self.errexit = strict;
                self.status = i32::from(self.status == 0);
            }
            _ if cursor.is("(") => {
                cursor.at += 1;
                self.list(cursor, &[]);
                cursor.accept(")");
            }
            _ => self.words(cursor),
        }
        self.depth -= 1;
    }

    /// Executes a simple command, or defines a function.
    fn words(&mut self, cursor: &mut Cursor<'_>) {
        let first = cursor.at;
        let mut words = Vec::new();
        while let Some(Token::Word(pieces)) = cursor.peek() {
            cursor.at += 1;
            self.spend(1);
            if !self.is_skipping() {
                expansion::expand(self, pieces, &mut words);
            }
        }
        if cursor.at == first {
            // An operator in command position.
            cursor.at += 1;
            return;
        }
        if cursor.at == first + 1 && cursor.is("(") {
            let name = cursor.tokens[first].plain().unwrap_or_default().to_string();
            return self.function(cursor, name);
        }
        if !self.is_skipping() {
            self.simple_command(&words);
        }
    }

    fn function(&mut self, cursor: &mut Cursor<'_>, name: String) {
        cursor.at += 1;
        cursor.accept(")");
        cursor.skip_newlines();
        let begin = cursor.at;
        let passing = std::mem::replace(&mut self.skipping, true);
        self.command(cursor);
        self.skipping = passing;
        let end = cursor.at.min(cursor.tokens.len()).max(begin);
        let body: Rc<[Token]> = cursor.tokens[begin.min(end)..end].into();
        if self.spend(body.len() * size_of::<Token>()) {
            Rc::make_mut(&mut self.functions).insert(name, body);
        }
    }

    fn for_loop(&mut self, cursor: &mut Cursor<'_>) {
        cursor.at += 1;
        if let Some(Token::Arithmetic(expressions)) = cursor.peek() {
            cursor.at += 1;
            return self.arithmetic_for_loop(cursor, expressions);
        }
        let name = cursor.plain().unwrap_or_default().to_string();
        cursor.at += 1;
        let mut values = Vec::new();
        if cursor.accept("in") {
            while let Some(Token::Word(pieces)) = cursor.peek() {
                cursor.at += 1;
                if !self.is_skipping() {
                    expansion::expand(self, pieces, &mut values);
                }
            }
        }
        cursor.skip_newlines();
        cursor.accept("do");
        let begin = cursor.at;
        for value in values {
            if self.exited || self.breaking {
                break;
            }
            self.set(&name, value);
            cursor.at = begin;
            self.list(cursor, &["done"]);
            self.continuing = false;
        }
        self.leave_loop(cursor, begin);
    }

    /// Executes `for ((INITIAL; CONDITION; STEP))` after the parentheses.
    fn arithmetic_for_loop(&mut self, cursor: &mut Cursor<'_>, expressions: &str) {
        let mut parts = expressions.splitn(3, ';');
        let mut part = || parts.next().unwrap_or_default().trim();
        let (initial, condition, step) = (part(), part(), part());
        cursor.skip_newlines();
        cursor.accept("do");
        let begin = cursor.at;
        if !self.is_skipping() {
            arithmetic(self, initial);
            while !self.exited
                && !self.breaking
                && (condition.is_empty() || arithmetic(self, condition) != 0)
                && self.spend(expressions.len())
                && self.budget.command()
            {
                cursor.at = begin;
                self.list(cursor, &["done"]);
                self.continuing = false;
                arithmetic(self, step);
            }
        }
        self.leave_loop(cursor, begin);
    }

    /// Skips over the body to its end, and resets `break`.
    fn leave_loop(&mut self, cursor: &mut Cursor<'_>, begin: usize) {
        let passing = std::mem::replace(&mut self.skipping, true);
        cursor.at = begin;
        self.list(cursor, &["done"]);
        cursor.accept("done");
        self.skipping = passing;
        self.breaking = false;
        self.continuing = false;
    }

    fn while_loop(&mut self, cursor: &mut Cursor<'_>, wanted: bool) {
        cursor.at += 1;
        let condition = cursor.at;
        let mut begin = condition;
        let mut last = self.steps.len();
        let mut endless = !self.is_skipping();
        for _ in 0..ROUNDS {
            cursor.at = condition;
            self.condition(cursor, "do");
            cursor.accept("do");
            begin = cursor.at;
            if self.is_skipping() || (self.status == 0) != wanted {
                endless = false;
                break;
            }
            last = self.steps.len();
            self.list(cursor, &["done"]);
            self.continuing = false;
            if self.exited || self.breaking {
                endless = false;
                break;
            }
        }
        if endless {
            let body = self.steps.split_off(last);
            self.step(Step::Loop(body));
            self.exited = true;
        } else if !self.exited {
            self.status = 0;
        }
        self.leave_loop(cursor, begin);
    }

    fn condition(&mut self, cursor: &mut Cursor<'_>, until: &str) {
        let strict = std::mem::take(&mut self.errexit);
        self.list(cursor, &[until]);
        self.errexit = strict;
    }

    fn if_clause(&mut self, cursor: &mut Cursor<'_>) {
        let passing = self.skipping;
        let mut taken = false;
        cursor.at += 1;
        loop {
            self.skipping = passing || taken;
            self.condition(cursor, "then");
            cursor.accept("then");
            let take = !taken && self.status == 0;
            self.skipping = passing || !take;
            taken |= take;
            self.list(cursor, &["elif", "else", "fi"]);
            if cursor.accept("elif") {
                continue;
            }
            if cursor.accept("else") {
                self.skipping = passing || taken;
                self.list(cursor, &["fi"]);
                taken = true;
            }
            break;
        }
        cursor.accept("fi");
        self.skipping = passing;
        if !taken {
            self.status = 0;
        }
    }

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
            let mut cursor = Cursor {
                tokens: &body,
                at: 0,
            };
            return self.command(&mut cursor);
        }
        self.status = 0;
        match command.rsplit('/').next().unwrap_or_default() {
            "sleep" => self.sleep(&arguments),
            "echo" => {
                let text = arguments
                    .iter()
                    .skip_while(|a| matches!(**a, "-n" | "-e" | "-ne" | "-en"));
                let text = text.copied().collect::<Vec<_>>().join(" ");
                self.step(Step::Print(text));
            }
            "printf" => {
                let size: usize = arguments.iter().map(|a| a.len()).sum();
                let text = match self.spend(2 * size) {
                    true => expansion::printf(&arguments),
                    false => String::new(),
                };
                for line in text.lines() {
                    self.step(Step::Print(line.to_string()));
                }
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
                for (name, value) in variables.iter() {
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
            "[" | "[[" | "test" => self.status = i32::from(!expansion::test(&arguments)),
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
            "exit" | "return" => {
                let code = arguments.first().and_then(|a| a.parse().ok());
                self.step(Step::Exit(code.unwrap_or(0)));
            }
            "sh" | "bash" => {
                let all: Vec<&str> = std::iter::once(command).chain(arguments).collect();
                if let Some((script, _)) = super::command::script(&all)
                    && self.depth < DEPTH
                {
                    let dialect = Dialect::of(command.rsplit('/').next().unwrap_or_default());
                    let inner = self.inner(dialect, |inner| inner.script(script));
                    for step in inner.steps {
                        match step {
                            Step::Exit(code) => self.status = code,
                            step => self.step(step),
                        }
                    }
                }
            }
            "ray" => self.ray(&arguments),
            "sshd" if arguments.iter().any(|a| a.starts_with("-D")) => self.step(Step::Hang),
            _ => {}
        }
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
                for step in known.unwrap_or_else(|| vec![Step::Wait(DEFAULT_DURATION)]) {
                    match step {
                        Step::Exit(code) => self.status = code,
                        step => self.step(step),
                    }
                }
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

    /// The output of a command substitution.
    pub(super) fn output(&mut self, script: &str) -> Vec<String> {
        if self.depth >= DEPTH {
            return Vec::new();
        }
        let functions = self.functions.clone();
        let inner = self.inner(self.dialect, |inner| {
            inner.functions = functions;
            inner.script(script);
        });
        self.status = inner.status;
        let lines = inner.steps.into_iter().filter_map(|step| match step {
            Step::Print(line) => Some(line),
            _ => None,
        });
        lines.collect()
    }

    /// The expanded text of a piece; empty if the budget is spent.
    pub(super) fn text(&mut self, piece: &WordPart) -> String {
        let text = match piece {
            WordPart::Text(text) => text.clone(),
            WordPart::Variable(name, instead) => {
                let size = self.variables.get(name).map_or(0, String::len);
                if !self.spend(size) {
                    return String::new();
                }
                let value = self.value(name);
                match instead {
                    Some(instead) if value.is_empty() => instead.clone(),
                    _ => value,
                }
            }
            WordPart::Command(script, _) => self.output(script).join(" "),
            WordPart::Arithmetic(expression) => match self.spend(expression.len()) {
                true => arithmetic(self, expression).to_string(),
                false => String::new(),
            },
            // Expanded before.
            WordPart::Braces(_) => String::new(),
        };
        match self.spend(text.len()) {
            true => text,
            false => String::new(),
        }
    }

    /// Enters a command in the arguments of another one. False if they are nested too deeply.
    fn enter_nested(&mut self) -> bool {
        let is_within = self.depth < DEPTH && self.budget.command();
        self.depth += usize::from(is_within);
        is_within
    }
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
