//! Charges for calls whose cost depends on the sizes of their values.
//!
//! [`SizeCharges`] wraps the values of such a call in functions that pass them through: [`SIZE`]
//! stores the size of a value, [`SIZE_CHARGE`] charges the cost of the call by the stored size and
//! that of its own value. Function calls in the method form evaluate each value once.

use std::cell::RefCell;

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use kube_cel::cel::{Context, FunctionContext, ResolveResult};

use crate::call_cost::{CallCost, ValueSize, format_regex_length};
use crate::cost::charge;
use crate::instrument::{call, integer};

/// The function that stores the size of a value: `size(CALL, VALUE)`.
const SIZE: &str = "@size";
/// The function that charges the cost of a call: `charge(CALL, VALUE)`.
const SIZE_CHARGE: &str = "@sizeCharge";

/// Functions of namespaces, whose name is no variable.
const NAMESPACES: [&str; 8] = [
    "base64",
    "format",
    "jsonpatch",
    "lists",
    "math",
    "optional",
    "sets",
    "strings",
];

/// Whether the target of a call is the namespace of the function, as in `sets.contains`, unless
/// there is a variable of its name.
pub fn is_qualified(target: &IdedExpr, function: &str) -> bool {
    match &target.expr {
        Expr::Ident(name) => {
            NAMESPACES.contains(&name.as_str()) || (name == "ip" && function == "isCanonical")
        }
        _ => false,
    }
}

/// The state of a call before the value of [`SIZE_CHARGE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The value is the first one, and the second one has this size.
    Second(ValueSize),
    /// The value is the second one, and the first one has this size.
    First(ValueSize),
    /// The value is the second one, and the size of the first one is stored.
    FirstStored(usize),
    /// The value is the call itself, and the size of its first value is stored.
    Call(usize),
}

/// A call whose cost depends on sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SizedCall {
    cost: CallCost,
    known: Known,
}

thread_local! {
    /// The stored sizes of the program that is evaluated, by number.
    static SIZES: RefCell<Vec<ValueSize>> = const { RefCell::new(Vec::new()) };
}

/// Adds the charges by size to the calls of a program.
#[derive(Default)]
pub(crate) struct SizeCharges {
    stored: usize,
}

impl SizeCharges {
    /// Adds charges to a call of a function. Returns the cost that is known before.
    pub(crate) fn charge(&mut self, e: &mut IdedExpr) -> u64 {
        let Expr::Call(sized) = &mut e.expr else {
            return 0;
        };
        let is_global = sized.target.is_none();
        let (cost, target) = match sized.target.take() {
            Some(target) if is_qualified(&target, &sized.func_name) => {
                (of_qualified(&target, &sized.func_name), Err(target))
            }
            target => (of_call(sized, target.as_deref()), Ok(target)),
        };
        let (mut target, namespace) = match target {
            Ok(target) => (target, None),
            Err(namespace) => (None, Some(namespace)),
        };
        let name = sized.func_name.clone();
        let is_of_target = !matches!(cost, CallCost::RegexOfLength(_));
        let mut values = target.as_deref_mut().filter(|_| is_of_target).into_iter();
        let mut values = values.by_ref().chain(&mut sized.args);
        let (first, second) = (values.next(), values.next());
        let (known_before, of_call) = match (cost, first, second) {
            (CallCost::Fixed(cost), ..) => (cost, None),
            (CallCost::Result, ..) => (0, Some(Known::Second(ValueSize::SCALAR))),
            (_, Some(first), Some(second)) if cost.reads_second() => {
                (self.charge_two(cost, first, second), None)
            }
            (_, Some(first), _) if cost.reads_first() => match size_of(first) {
                Some(size) if !cost.reads_tree() => (cost.cost(size, ValueSize::SCALAR), None),
                // The interpreter evaluates the arguments of these functions twice.
                _ if is_global && matches!(&*name, "ip" | "semver" | "isSemver") => {
                    (0, Some(Known::Call(self.store_size(first))))
                }
                _ => {
                    let known = Known::Second(ValueSize::SCALAR);
                    SizedCall { cost, known }.wrap(first);
                    (0, None)
                }
            },
            _ => (1, None),
        };
        sized.target = target.or(namespace);
        if let Some(known) = of_call {
            SizedCall { cost, known }.wrap(e);
        }
        known_before
    }

    /// Adds the charge of a call that depends on two values.
    fn charge_two(&mut self, cost: CallCost, first: &mut IdedExpr, second: &mut IdedExpr) -> u64 {
        let sizes = (
            size_of(first).or_else(|| (!cost.reads_first()).then_some(ValueSize::SCALAR)),
            size_of(second),
        );
        let (known, value) = match sizes {
            (Some(first), Some(second)) => return cost.cost(first, second),
            // A number, or a list that is added to a list.
            (Some(size), None) | (None, Some(size)) if cost.is_fixed_with(size) => return 1,
            (Some(size), None) => (Known::First(size), second),
            (None, Some(size)) => (Known::Second(size), first),
            (None, None) => (Known::FirstStored(self.store_size(first)), second),
        };
        SizedCall { cost, known }.wrap(value);
        0
    }

    /// Makes the program store the size of a value. Returns its number.
    fn store_size(&mut self, value: &mut IdedExpr) -> usize {
        let number = self.stored;
        self.stored += 1;
        let id = value.id;
        let args = vec![integer(id, number as u64), std::mem::take(value)];
        *value = call(id, SIZE, args);
        number
    }
}

impl SizedCall {
    /// Makes a value charge the cost of the call.
    fn wrap(self, value: &mut IdedExpr) {
        let id = value.id;
        let [kind, number] = match self.known {
            Known::Second(size) => [0, size.to_code()],
            Known::First(size) => [1, size.to_code()],
            Known::FirstStored(number) => [2, number as u64],
            Known::Call(number) => [3, number as u64],
        };
        let numbers = [self.cost.to_code(), kind, number];
        let mut args: Vec<IdedExpr> = numbers.into_iter().map(|n| integer(id, n)).collect();
        args.push(std::mem::take(value));
        *value = call(id, SIZE_CHARGE, args);
    }

    /// The call of the arguments of [`SIZE_CHARGE`].
    fn of_arguments(args: &[IdedExpr]) -> Option<Self> {
        let number = args.get(2).and_then(number)?;
        let known = match args.get(1).and_then(self::number)? {
            0 => Known::Second(ValueSize::of_code(number)),
            1 => Known::First(ValueSize::of_code(number)),
            2 => Known::FirstStored(usize::try_from(number).ok()?),
            _ => Known::Call(usize::try_from(number).ok()?),
        };
        let cost = CallCost::of_code(args.first().and_then(self::number)?)?;
        Some(Self { cost, known })
    }
}

/// Adds the functions to the context of all programs.
pub(crate) fn add_functions(context: &mut Context<'_>) {
    context.add_function(SIZE, |call: &FunctionContext<'_, '_>| -> ResolveResult {
        let [number, value] = call.args else {
            return Err(call.error("invalid call"));
        };
        let value = call.ptx.resolve(value)?;
        let number = self::number(number).and_then(|n| usize::try_from(n).ok());
        let number = number.ok_or_else(|| call.error("invalid call"))?;
        let size = ValueSize::of(&value, false);
        SIZES.with_borrow_mut(|sizes| {
            if sizes.len() <= number {
                sizes.resize(number + 1, ValueSize::SCALAR);
            }
            sizes[number] = size;
        });
        Ok(value)
    });
    let charge_call = |call: &FunctionContext<'_, '_>| -> ResolveResult {
        let (Some(sized), Some(value)) = (SizedCall::of_arguments(call.args), call.args.get(3))
        else {
            return Err(call.error("invalid call"));
        };
        let value = call.ptx.resolve(value)?;
        let size = || ValueSize::of(&value, sized.cost.reads_tree());
        let stored = |number: usize| {
            let size = SIZES.with_borrow(|sizes| sizes.get(number).copied());
            size.unwrap_or(ValueSize::SCALAR)
        };
        charge(match sized.known {
            Known::Second(second) => sized.cost.cost(size(), second),
            Known::First(first) => sized.cost.cost(first, size()),
            Known::FirstStored(number) => sized.cost.cost(stored(number), size()),
            Known::Call(number) => sized.cost.cost(stored(number), ValueSize::SCALAR),
        })?;
        Ok(value)
    };
    context.add_function(SIZE_CHARGE, charge_call);
}

fn number(e: &IdedExpr) -> Option<u64> {
    match &e.expr {
        Expr::Literal(LiteralValue::Int(n)) => u64::try_from(*n.inner()).ok(),
        _ => None,
    }
}

/// The cost of a function of a namespace.
fn of_qualified(namespace: &IdedExpr, function: &str) -> CallCost {
    match &namespace.expr {
        Expr::Ident(name) if name == "sets" => CallCost::of_function(&format!("sets.{function}")),
        _ => CallCost::of_function(function),
    }
}

/// The cost of a function or method.
fn of_call(call: &CallExpr, target: Option<&IdedExpr>) -> CallCost {
    match (call.func_name.as_str(), target) {
        ("validate", Some(target)) => {
            let length = format_name(target).map_or(0, format_regex_length);
            CallCost::RegexOfLength(length.max(1))
        }
        (name, _) => CallCost::of_function(name),
    }
}

/// The name of the format in an expression such as `format.dns1123Label().value()`.
fn format_name(e: &IdedExpr) -> Option<&str> {
    let Expr::Call(call) = &e.expr else {
        return None;
    };
    let target = call.target.as_deref()?;
    match (&target.expr, call.args.first().map(|e| &e.expr)) {
        (Expr::Ident(name), None) if name == "format" => Some(&call.func_name),
        (Expr::Ident(name), Some(Expr::Literal(LiteralValue::String(format))))
            if name == "format" && call.func_name == "named" =>
        {
            Some(format.inner())
        }
        _ => format_name(target),
    }
}

/// The size of a literal.
fn size_of(e: &IdedExpr) -> Option<ValueSize> {
    match &e.expr {
        Expr::Literal(literal) => Some(ValueSize::of_literal(literal)),
        Expr::List(list) if list.optional_indices.is_empty() => {
            Some(ValueSize::of_list(list.elements.len()))
        }
        Expr::Map(map) => {
            let is_optional = |e: &EntryExpr| matches!(e, EntryExpr::MapEntry(e) if e.optional);
            let mut entries = map.entries.iter();
            let has_optional = entries.any(|entry| is_optional(&entry.expr));
            (!has_optional).then(|| ValueSize::of_map(map.entries.len()))
        }
        _ => None,
    }
}
