//! Operators.

use std::cmp::Ordering;

use ruff_python_ast::{CmpOp, Operator};

use crate::error::Exception;
use crate::interpreter::Interpreter;
use crate::value::Value;

/// Maximum size of a text or list that an operator creates, in bytes or elements.
pub(crate) const SIZE: usize = 4 << 20;

/// The position of an index, which counts from the end if it is negative.
pub(crate) fn index(index: Option<i64>, length: usize) -> Option<usize> {
    let index = index?;
    match index < 0 {
        true => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
        false => usize::try_from(index).ok(),
    }
}

pub(crate) fn out_of_range() -> Exception {
    Exception::new("IndexError", "list index out of range")
}

/// The order of two values.
pub(crate) fn order(a: &Value, b: &Value) -> Result<Ordering, Exception> {
    let incomparable = || {
        Exception::type_error(format!(
            "'<' not supported between instances of '{}' and '{}'",
            a.type_name(),
            b.type_name()
        ))
    };
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return Ok(a.cmp(b));
    }
    if let (Value::Tuple(_) | Value::List(_), Value::Tuple(_) | Value::List(_)) = (a, b) {
        let (a, b) = (
            a.values().unwrap_or_default(),
            b.values().unwrap_or_default(),
        );
        for (a, b) in a.iter().zip(&b) {
            // Nested tuples are not compared.
            let order = match (a.as_str(), b.as_str()) {
                (Some(a), Some(b)) => a.cmp(b),
                _ => numbers(a, b).ok_or_else(incomparable)?,
            };
            if order != Ordering::Equal {
                return Ok(order);
            }
        }
        return Ok(a.len().cmp(&b.len()));
    }
    numbers(a, b).ok_or_else(incomparable)
}

fn numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_float()?.partial_cmp(&b.as_float()?),
    }
}

/// Compares two values.
pub(crate) fn compare(op: CmpOp, a: &Value, b: &Value) -> Result<bool, Exception> {
    Ok(match op {
        CmpOp::Eq => a.equals(b, 0),
        CmpOp::NotEq => !a.equals(b, 0),
        CmpOp::Is => a.is_none() == b.is_none() && a.equals(b, 0),
        CmpOp::IsNot => a.is_none() != b.is_none() || !a.equals(b, 0),
        CmpOp::Lt => order(a, b)? == Ordering::Less,
        CmpOp::LtE => order(a, b)? != Ordering::Greater,
        CmpOp::Gt => order(a, b)? == Ordering::Greater,
        CmpOp::GtE => order(a, b)? != Ordering::Less,
        CmpOp::In => contains(b, a)?,
        CmpOp::NotIn => !contains(b, a)?,
    })
}

fn contains(container: &Value, value: &Value) -> Result<bool, Exception> {
    if let (Some(text), Some(part)) = (container.as_str(), value.as_str()) {
        return Ok(text.contains(part));
    }
    let values = container.values().ok_or_else(|| {
        Exception::type_error(format!(
            "argument of type '{}' is not iterable",
            container.type_name()
        ))
    })?;
    Ok(values.iter().any(|known| known.equals(value, 0)))
}

impl Interpreter<'_> {
    pub(crate) fn binary(&self, op: Operator, a: &Value, b: &Value) -> Result<Value, Exception> {
        let unsupported = || {
            Exception::type_error(format!(
                "unsupported operand type(s) for {}: '{}' and '{}'",
                op.as_str(),
                a.type_name(),
                b.type_name()
            ))
        };
        let overflow = || Exception::new("OverflowError", "the number is too large");
        let too_large = || Exception::new("MemoryError", "the value is too large");
        if op == Operator::Add {
            if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
                return match a.len() + b.len() <= SIZE {
                    true => Ok(Value::str(format!("{a}{b}"))),
                    false => Err(too_large()),
                };
            }
            if let (Value::List(_), Value::List(_)) = (a, b) {
                let values = [a.values(), b.values()].into_iter().flatten().flatten();
                let values: Vec<Value> = values.collect();
                return match values.len() <= SIZE {
                    true => Ok(Value::list(values)),
                    false => Err(too_large()),
                };
            }
        }
        if op == Operator::Mult
            && let (Value::List(values), Some(times)) = (a, b.as_int())
        {
            let values = values.lock().clone();
            let times = usize::try_from(times).unwrap_or(0);
            return match values.len().saturating_mul(times) <= SIZE {
                true => Ok(Value::list(
                    (0..times).flat_map(|_| values.clone()).collect(),
                )),
                false => Err(too_large()),
            };
        }
        if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
            let result = match op {
                Operator::Add => a.checked_add(b),
                Operator::Sub => a.checked_sub(b),
                Operator::Mult => a.checked_mul(b),
                Operator::FloorDiv | Operator::Mod | Operator::Div if b == 0 => {
                    return Err(Exception::new("ZeroDivisionError", "division by zero"));
                }
                Operator::FloorDiv => a.checked_div_euclid(b),
                Operator::Mod => a.checked_rem_euclid(b),
                Operator::Div => return Ok(Value::Float(a as f64 / b as f64)),
                _ => return Err(unsupported()),
            };
            return result.map(Value::Int).ok_or_else(overflow);
        }
        let (Some(x), Some(y)) = (a.as_float(), b.as_float()) else {
            return Err(unsupported());
        };
        Ok(Value::Float(match op {
            Operator::Add => x + y,
            Operator::Sub => x - y,
            Operator::Mult => x * y,
            Operator::Div if y != 0.0 => x / y,
            _ => return Err(unsupported()),
        }))
    }
}
