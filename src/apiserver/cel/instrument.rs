//! Rewrites parsed expressions for the interpreter: iterations of comprehensions are charged, and
//! object literals such as `Object.spec{replicas: 1}` become maps, which the interpreter knows.

use kube_cel::cel::common::ast::{
    CallExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, MapEntryExpr, MapExpr,
    operators,
};

use super::cost::CHARGE;

/// The costs of cel-go's `interpreter/runtimecost.go`.
const SELECT_AND_IDENT: u64 = 1;
const CALL: u64 = 1;
const LIST: u64 = 10;
const MAP: u64 = 30;
const STRUCT: u64 = 40;

/// The rewritten expression, and the cost of its parts outside of comprehensions.
pub(super) fn instrument(mut expression: IdedExpr) -> (IdedExpr, u64) {
    let cost = rewrite(&mut expression);
    (expression, cost)
}

fn rewrite(e: &mut IdedExpr) -> u64 {
    if let Expr::Struct(literal) = &mut e.expr {
        let entries = std::mem::take(&mut literal.entries);
        let entries = entries.into_iter().map(map_entry).collect();
        e.expr = Expr::Map(MapExpr { entries });
        return rewrite(e) - MAP + STRUCT;
    }
    match &mut e.expr {
        Expr::Ident(_) => SELECT_AND_IDENT,
        // `has` itself is free.
        Expr::Select(select) if select.test => rewrite(&mut select.operand),
        Expr::Select(select) => rewrite(&mut select.operand) + SELECT_AND_IDENT,
        Expr::Call(call) => {
            let target = call.target.as_deref_mut().map_or(0, rewrite);
            target + call.args.iter_mut().map(rewrite).sum::<u64>() + CALL
        }
        Expr::List(list) => list.elements.iter_mut().map(rewrite).sum::<u64>() + LIST,
        Expr::Map(map) => map.entries.iter_mut().map(rewrite_entry).sum::<u64>() + MAP,
        Expr::Comprehension(fold) => {
            let once = rewrite(&mut fold.iter_range)
                + rewrite(&mut fold.accu_init)
                + rewrite(&mut fold.result);
            let iteration = rewrite(&mut fold.loop_cond) + rewrite(&mut fold.loop_step);
            let condition = std::mem::take(&mut fold.loop_cond);
            fold.loop_cond = charged(condition, iteration);
            once
        }
        _ => 0,
    }
}

fn rewrite_entry(entry: &mut IdedEntryExpr) -> u64 {
    match &mut entry.expr {
        EntryExpr::MapEntry(entry) => rewrite(&mut entry.key) + rewrite(&mut entry.value),
        EntryExpr::StructField(field) => rewrite(&mut field.value),
    }
}

/// The condition of a loop that charges the cost of an iteration first.
fn charged(condition: IdedExpr, iteration: u64) -> IdedExpr {
    let id = condition.id;
    let units = i64::try_from(iteration).unwrap_or(i64::MAX);
    let units = Expr::Literal(LiteralValue::Int(units.into()));
    let charge = call(id, CHARGE, vec![IdedExpr { id, expr: units }]);
    call(id, operators::LOGICAL_AND, vec![charge, condition])
}

fn call(id: u64, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
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
