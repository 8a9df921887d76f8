//! Rewrites parsed expressions for the interpreter, which has no hook for cost, so that they charge
//! what cel-go's cost tracker does (`interpreter/runtimecost.go`). Object literals such as
//! `Object.spec{replicas: 1}` become maps, which the interpreter supports.
//!
//! A part that is evaluated whenever the expression is has a cost that is known before. The others
//! charge it when they are evaluated: the branches of `?:`, the right side of `&&` and `||`, and the
//! condition and step of a comprehension. Calls whose cost depends on the sizes of values charge it
//! by [`crate::size_charge`].

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue,
    MapEntryExpr, MapExpr, SelectExpr, operators,
};

use crate::call_cost::CallCost;
use crate::cost::CHARGE;
use crate::size_charge::{SizeCharges, is_qualified};

/// The costs of cel-go's `common/cost.go`.
const SELECT_AND_IDENT: u64 = 1;
const LIST: u64 = 10;
const MAP: u64 = 30;
const STRUCT: u64 = 40;

/// The variable of the authorizer for the resource of the request.
pub const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// The variables of policies without a declared type. cel-go resolves operators on them at run time
/// and charges 1.
const DYNAMIC: [&str; 3] = ["object", "oldObject", "params"];

/// The rewritten expression, and the cost of the parts that are always evaluated.
pub(crate) fn instrument(mut expression: IdedExpr) -> (IdedExpr, u64) {
    let mut rewriter = Rewriter::default();
    let cost = rewriter.rewrite(&mut expression);
    (expression, cost)
}

#[derive(Default)]
struct Rewriter {
    sizes: SizeCharges,
    /// The variables of enclosing comprehensions, and whether each has no declared type.
    scope: Vec<(String, bool)>,
}

impl Rewriter {
    /// Rewrites an expression; its cost.
    fn rewrite(&mut self, e: &mut IdedExpr) -> u64 {
        if let Expr::Struct(literal) = &mut e.expr {
            let entries = std::mem::take(&mut literal.entries);
            let entries = entries.into_iter().map(map_entry).collect();
            e.expr = Expr::Map(MapExpr { entries });
            return self.rewrite(e) - MAP + STRUCT;
        }
        if self.is_request_resource(&e.expr) {
            e.expr = Expr::Ident(REQUEST_RESOURCE.into());
        }
        match &mut e.expr {
            Expr::Ident(_) => SELECT_AND_IDENT,
            // The test of `has` costs as much as the variable, which is not charged.
            Expr::Select(select) => {
                self.operand(&mut select.operand) + u64::from(!select.test) * SELECT_AND_IDENT
            }
            Expr::Call(call) => match call.func_name.as_str() {
                operators::CONDITIONAL if call.args.len() == 3 => {
                    let [condition, branches @ ..] = call.args.as_mut_slice() else {
                        return 0;
                    };
                    branches.iter_mut().for_each(|e| self.branch(e));
                    self.rewrite(condition)
                }
                operators::LOGICAL_AND | operators::LOGICAL_OR => {
                    let mut args = call.args.iter_mut();
                    let cost = args.next().map_or(0, |left| self.rewrite(left));
                    args.for_each(|right| {
                        let cost = self.rewrite(right);
                        charge_before(right, cost);
                    });
                    cost
                }
                operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => {
                    self.index(&mut call.args)
                }
                _ => self.call(e),
            },
            Expr::List(list) => list
                .elements
                .iter_mut()
                .map(|e| self.rewrite(e))
                .sum::<u64>()
                .saturating_add(LIST),
            Expr::Map(map) => {
                let entries = map.entries.iter_mut();
                entries.map(|e| self.entry(e)).sum::<u64>() + MAP
            }
            Expr::Comprehension(fold) => self.comprehension(fold),
            _ => 0,
        }
    }

    /// Whether an expression is `authorizer.requestResource`.
    fn is_request_resource(&self, e: &Expr) -> bool {
        match e {
            Expr::Select(SelectExpr { operand, field, .. }) => {
                matches!(&operand.expr, Expr::Ident(name)
                    if format!("{name}.{field}") == REQUEST_RESOURCE && !self.is_in_scope(name))
            }
            _ => false,
        }
    }

    fn is_in_scope(&self, name: &str) -> bool {
        self.scope.iter().any(|(known, _)| known == name)
    }

    /// The operand of a selection. A result of a call is charged like a variable.
    fn operand(&mut self, e: &mut IdedExpr) -> u64 {
        let is_variable = is_attribute(&e.expr);
        self.rewrite(e) + u64::from(!is_variable) * SELECT_AND_IDENT
    }

    /// A branch of `?:`. cel-go does not charge a variable in it, only its selections.
    fn branch(&mut self, e: &mut IdedExpr) {
        let is_variable = is_charged_attribute(&e.expr);
        let cost = self.rewrite(e) - u64::from(is_variable) * SELECT_AND_IDENT;
        charge_before(e, cost);
    }

    fn index(&mut self, args: &mut [IdedExpr]) -> u64 {
        let [operand, index] = args else {
            return 0;
        };
        let is_variable = is_charged_attribute(&index.expr);
        let index = self.rewrite(index) - u64::from(is_variable) * SELECT_AND_IDENT;
        self.operand(operand) + index + SELECT_AND_IDENT
    }

    fn entry(&mut self, entry: &mut IdedEntryExpr) -> u64 {
        match &mut entry.expr {
            EntryExpr::MapEntry(entry) => {
                self.rewrite(&mut entry.key) + self.rewrite(&mut entry.value)
            }
            EntryExpr::StructField(field) => self.rewrite(&mut field.value),
        }
    }

    /// A call of a function or of an operator without special evaluation.
    fn call(&mut self, e: &mut IdedExpr) -> u64 {
        let Expr::Call(call) = &mut e.expr else {
            return 0;
        };
        let is_dynamic = self.is_dynamic_call(call);
        let mut cost = match &mut call.target {
            Some(target) if is_qualified(target, &call.func_name) => 0,
            Some(target) => self.rewrite(target),
            None => 0,
        };
        cost += call.args.iter_mut().map(|e| self.rewrite(e)).sum::<u64>();
        cost.saturating_add(match is_dynamic {
            true => 1,
            false => self.sizes.charge(e),
        })
    }

    /// Whether cel-go resolves the overload of an operator at run time.
    fn is_dynamic_call(&self, call: &CallExpr) -> bool {
        let dynamic = |e: &IdedExpr| self.is_dynamic(&e.expr);
        match CallCost::of_function(&call.func_name) {
            CallCost::Comparison | CallCost::Addition => call.args.iter().all(dynamic),
            CallCost::Membership | CallCost::BytesTraversal => {
                call.args.last().is_some_and(dynamic)
            }
            CallCost::Traversal if call.func_name == "bytes" => call.args.iter().all(dynamic),
            _ => false,
        }
    }

    /// Whether an expression selects from a variable without a declared type.
    fn is_dynamic(&self, e: &Expr) -> bool {
        match e {
            Expr::Ident(name) => {
                let known = self.scope.iter().rev().find(|(known, _)| known == name);
                known.map_or(DYNAMIC.contains(&name.as_str()), |(_, dynamic)| *dynamic)
            }
            Expr::Select(select) => !select.test && self.is_dynamic(&select.operand.expr),
            Expr::Call(call) if is_attribute(e) => match call.func_name.as_str() {
                operators::CONDITIONAL => {
                    call.args.iter().skip(1).all(|e| self.is_dynamic(&e.expr))
                }
                _ => call.args.first().is_some_and(|e| self.is_dynamic(&e.expr)),
            },
            _ => false,
        }
    }

    fn comprehension(&mut self, fold: &mut ComprehensionExpr) -> u64 {
        let is_dynamic = self.is_dynamic(&fold.iter_range.expr);
        let cost = self.rewrite(&mut fold.iter_range) + self.rewrite(&mut fold.accu_init);
        let outer = self.scope.len();
        let variables = [Some(&fold.iter_var), fold.iter_var2.as_ref()];
        let variables = variables.into_iter().flatten();
        self.scope
            .extend(variables.map(|name| (name.clone(), is_dynamic)));
        self.scope.push((fold.accu_var.clone(), false));
        for part in [&mut fold.loop_cond, &mut fold.loop_step] {
            let cost = self.rewrite(part);
            charge_before(part, cost);
        }
        let cost = cost + self.rewrite(&mut fold.result);
        self.scope.truncate(outer);
        cost
    }
}

/// Whether cel-go evaluates an expression as an attribute: a variable with selections.
fn is_attribute(e: &Expr) -> bool {
    match e {
        Expr::Call(call) => matches!(
            call.func_name.as_str(),
            operators::INDEX
                | operators::OPT_INDEX
                | operators::OPT_SELECT
                | operators::CONDITIONAL
        ),
        Expr::Ident(_) => true,
        Expr::Select(select) => !select.test,
        _ => false,
    }
}

/// Whether an attribute is charged as a variable.
fn is_charged_attribute(e: &Expr) -> bool {
    is_attribute(e) && !matches!(e, Expr::Call(call) if call.func_name == operators::CONDITIONAL)
}

/// Makes an expression charge a cost when it is evaluated: `charge(COST) ? EXPRESSION : null`.
fn charge_before(e: &mut IdedExpr, cost: u64) {
    if cost == 0 {
        return;
    }
    let id = e.id;
    let charge = call(id, CHARGE, vec![integer(id, cost)]);
    let null = IdedExpr {
        id,
        expr: Expr::Literal(LiteralValue::Null),
    };
    let expression = std::mem::take(e);
    *e = call(id, operators::CONDITIONAL, vec![charge, expression, null]);
}

/// An integer literal.
pub(crate) fn integer(id: u64, value: u64) -> IdedExpr {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    IdedExpr {
        id,
        expr: Expr::Literal(LiteralValue::Int(value.into())),
    }
}

/// A call of a function.
pub(crate) fn call(id: u64, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr {
        id,
        expr: Expr::Call(CallExpr {
            func_name: name.into(),
            target: None,
            args,
        }),
    }
}

/// The field of an object literal as an entry of a map.
fn map_entry(entry: IdedEntryExpr) -> IdedEntryExpr {
    let expr = match entry.expr {
        EntryExpr::StructField(field) => EntryExpr::MapEntry(MapEntryExpr {
            key: IdedExpr {
                id: entry.id,
                expr: Expr::Literal(LiteralValue::String(field.field.as_str().into())),
            },
            value: field.value,
            optional: field.optional,
        }),
        entry @ EntryExpr::MapEntry(_) => entry,
    };
    IdedEntryExpr { id: entry.id, expr }
}
