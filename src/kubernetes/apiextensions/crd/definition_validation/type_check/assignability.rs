//! Whether a value of one type can be of another, as the checker of cel-go decides.

use super::Type;

/// Whether the type of a value is known, so that an overload can be rejected.
fn is_known(of: &Type<'_>) -> bool {
    !matches!(
        of,
        Type::Any
            | Type::Unbound
            | Type::Other
            | Type::Fields(_)
            | Type::Named(_)
            | Type::Authorizer(_)
    )
}

/// Whether values of two types can be of one type.
pub(super) fn unify(a: &Type<'_>, b: &Type<'_>) -> bool {
    match (a, b) {
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => unify(a, b),
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            unify(key, other_key) && unify(value, other_value)
        }
        (a, b) if !is_known(a) || !is_known(b) => true,
        (Type::Null, b) => is_nullable(b),
        (a, Type::Null) => is_nullable(a),
        // Whether two object types are the same is not decided here.
        (a, b) if is_object(a) && is_object(b) => true,
        (a, b) => a == b,
    }
}

/// Whether null can be passed.
fn is_nullable(of: &Type<'_>) -> bool {
    let is_primitive = matches!(
        of,
        Type::Bool | Type::Int | Type::Uint | Type::Double | Type::String | Type::Bytes
    );
    !is_primitive && !matches!(of, Type::List(_) | Type::Map(..))
}

fn is_object(of: &Type<'_>) -> bool {
    matches!(of, Type::Object(..) | Type::Struct(_) | Type::ObjectMeta)
}

impl<'s> Type<'s> {
    /// The more general one of two types that unify.
    pub(super) fn most_general(&self, other: &Self) -> Self {
        let both = |a: &Self, b: &Self| Box::new(a.most_general(b));
        match (self, other) {
            (Self::Unbound | Self::Null, other) => other.clone(),
            (Self::List(a), Self::List(b)) => Self::List(both(a, b)),
            (Self::Optional(a), Self::Optional(b)) => Self::Optional(both(a, b)),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Self::Map(both(key, other_key), both(value, other_value))
            }
            (own, other) if is_known(own) && !is_known(other) && *other != Self::Unbound => {
                other.clone()
            }
            (own, _) => own.clone(),
        }
    }
}
