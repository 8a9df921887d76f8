//! Executes compound commands.

use super::arithmetic::arithmetic;
use super::expansion;
use super::interpreter::Shell;
use super::pattern;
use super::syntax::{Compound, List, Part, Word};
use super::test_expression;
use kueue_lab_container_program::Step;

/// Iterations after which a loop counts as endless.
const ROUNDS: usize = 100;

impl Shell {
    pub(super) fn compound(&mut self, compound: &Compound) {
        match compound {
            Compound::Group(list) => self.list(list),
            Compound::Subshell(list) => {
                let functions = self.functions.clone();
                let strict = self.errexit;
                let inner = self.inner(self.dialect, |inner| {
                    inner.functions = functions;
                    inner.errexit = strict;
                    inner.list(list);
                });
                self.steps_of_shell(inner);
            }
            Compound::If {
                branches,
                otherwise,
            } => self.if_clause(branches, otherwise.as_ref()),
            Compound::While {
                condition,
                until,
                body,
            } => self.while_loop(condition, !until, body),
            Compound::For { name, words, body } => {
                let mut values = Vec::new();
                for word in words.iter().flatten() {
                    expansion::expand(self, word, &mut values);
                }
                for value in values {
                    if self.exited || self.breaking || self.returning {
                        break;
                    }
                    self.set(name, value);
                    self.loop_body(body);
                }
                self.breaking = false;
            }
            Compound::ArithmeticFor { expressions, body } => {
                self.arithmetic_for_loop(expressions, body);
            }
            Compound::Case { word, arms } => {
                let text = self.word_text(word);
                self.status = 0;
                for arm in arms {
                    for word in &arm.patterns {
                        let pattern = self.pattern(word);
                        if self.is_skipping() || pattern::matches(&pattern, &text) {
                            return self.list(&arm.body);
                        }
                    }
                }
            }
            Compound::Arithmetic(expression) => {
                self.status = i32::from(self.arithmetic(expression) == 0);
            }
            Compound::Condition(words) => {
                let mut texts = Vec::with_capacity(words.len());
                for word in words {
                    texts.push(self.pattern(word));
                }
                self.status = test_expression::condition(self, &texts);
            }
        }
    }

    /// The value of an arithmetic expression; 0 if the budget is spent.
    pub(super) fn arithmetic(&mut self, expression: &Word) -> i64 {
        let text = self.word_text(expression);
        match self.is_skipping() {
            true => 0,
            false => arithmetic(self, &text),
        }
    }

    /// Executes the body of a loop once.
    fn loop_body(&mut self, body: &List) {
        self.list(body);
        self.continuing = false;
    }

    /// Executes `for ((INITIAL; CONDITION; STEP))`.
    fn arithmetic_for_loop(&mut self, [initial, condition, step]: &[Word; 3], body: &List) {
        self.arithmetic(initial);
        while !self.exited
            && !self.breaking
            && !self.returning
            && (is_blank(condition) || self.arithmetic(condition) != 0)
            && self.budget.command()
        {
            self.loop_body(body);
            self.arithmetic(step);
        }
        self.breaking = false;
    }

    fn while_loop(&mut self, condition: &List, wanted: bool, body: &List) {
        let mut last = self.steps.len();
        let mut endless = true;
        for _ in 0..ROUNDS {
            self.condition(condition);
            if self.is_skipping() || (self.status == 0) != wanted {
                endless = false;
                break;
            }
            last = self.steps.len();
            self.loop_body(body);
            if self.exited || self.breaking || self.returning {
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
        self.breaking = false;
    }

    fn condition(&mut self, list: &List) {
        let strict = std::mem::take(&mut self.errexit);
        self.list(list);
        self.errexit = strict;
    }

    fn if_clause(&mut self, branches: &[(List, List)], otherwise: Option<&List>) {
        for (condition, branch) in branches {
            self.condition(condition);
            if self.is_skipping() {
                return;
            }
            if self.status == 0 {
                return self.list(branch);
            }
        }
        match otherwise {
            Some(list) => self.list(list),
            None => self.status = 0,
        }
    }
}

/// Whether an expression is empty.
fn is_blank(expression: &Word) -> bool {
    let is_blank = |part: &Part| matches!(part, Part::Literal(text) | Part::Quoted(text) if text.trim().is_empty());
    expression.iter().all(is_blank)
}
