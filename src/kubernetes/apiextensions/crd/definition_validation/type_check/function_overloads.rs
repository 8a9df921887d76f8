//! The overloads of operators and functions in the CEL environment of Kubernetes: the standard
//! definitions of cel-go with its extensions for strings, lists and sets, and the libraries of
//! `k8s.io/apiserver/pkg/cel/library`.

use super::Type;
use super::assignability::unify;

/// A type in the declaration of a function.
#[derive(Clone, Copy)]
enum P {
    /// Any type.
    Dyn,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    /// A type of a library, by its name.
    Opaque(&'static str),
    /// A type parameter.
    A,
    /// Another type parameter.
    B,
    List(&'static P),
    Map(&'static P, &'static P),
    Optional(&'static P),
}

const URL: P = P::Opaque("kubernetes.URL");
const IP: P = P::Opaque("net.IP");
const CIDR: P = P::Opaque("net.CIDR");
const QUANTITY: P = P::Opaque("kubernetes.Quantity");
const SEMVER: P = P::Opaque("kubernetes.Semver");
const FORMAT: P = P::Opaque("kubernetes.NamedFormat");
const STRINGS: P = P::List(&P::String);
const LIST: P = P::List(&P::A);
const MAP: P = P::Map(&P::A, &P::B);

/// One overload of a function.
struct Overload {
    receiver: Option<P>,
    arguments: &'static [P],
    result: P,
}

const fn member(receiver: P, arguments: &'static [P], result: P) -> Overload {
    Overload {
        receiver: Some(receiver),
        arguments,
        result,
    }
}

const fn global(arguments: &'static [P], result: P) -> Overload {
    Overload {
        receiver: None,
        arguments,
        result,
    }
}

/// The overloads by the name of the function. Functions that are not listed take arguments of every
/// type.
const FUNCTIONS: &[(&str, &[Overload])] = &[
    // Operators; `_&&_` and `_||_` are checked for each operand.
    ("!_", &[global(&[P::Bool], P::Bool)]),
    (
        "-_",
        &[global(&[P::Int], P::Int), global(&[P::Double], P::Double)],
    ),
    ("_==_", EQUALITY),
    ("_!=_", EQUALITY),
    ("_<_", ORDER),
    ("_<=_", ORDER),
    ("_>_", ORDER),
    ("_>=_", ORDER),
    (
        "_+_",
        &[
            global(&[P::Bytes, P::Bytes], P::Bytes),
            global(&[P::Double, P::Double], P::Double),
            global(&[P::Duration, P::Duration], P::Duration),
            global(&[P::Duration, P::Timestamp], P::Timestamp),
            global(&[P::Timestamp, P::Duration], P::Timestamp),
            global(&[P::Int, P::Int], P::Int),
            global(&[LIST, LIST], LIST),
            global(&[P::String, P::String], P::String),
            global(&[P::Uint, P::Uint], P::Uint),
        ],
    ),
    (
        "_-_",
        &[
            global(&[P::Double, P::Double], P::Double),
            global(&[P::Duration, P::Duration], P::Duration),
            global(&[P::Int, P::Int], P::Int),
            global(&[P::Timestamp, P::Duration], P::Timestamp),
            global(&[P::Timestamp, P::Timestamp], P::Duration),
            global(&[P::Uint, P::Uint], P::Uint),
        ],
    ),
    ("_*_", PRODUCT),
    ("_/_", PRODUCT),
    (
        "_%_",
        &[
            global(&[P::Int, P::Int], P::Int),
            global(&[P::Uint, P::Uint], P::Uint),
        ],
    ),
    (
        "@in",
        &[
            global(&[P::A, LIST], P::Bool),
            global(&[P::A, MAP], P::Bool),
        ],
    ),
    (
        "_[_]",
        &[
            global(&[LIST, P::Int], P::A),
            global(&[MAP, P::A], P::B),
            global(&[P::Optional(&LIST), P::Int], P::Optional(&P::A)),
            global(&[P::Optional(&MAP), P::A], P::Optional(&P::B)),
        ],
    ),
    ("_?_:_", &[global(&[P::Bool, P::A, P::A], P::A)]),
    (
        "size",
        &[
            member(P::String, &[], P::Int),
            member(P::Bytes, &[], P::Int),
            member(LIST, &[], P::Int),
            member(MAP, &[], P::Int),
            global(&[P::String], P::Int),
            global(&[P::Bytes], P::Int),
            global(&[LIST], P::Int),
            global(&[MAP], P::Int),
        ],
    ),
    ("contains", &[member(P::String, &[P::String], P::Bool)]),
    ("startsWith", &[member(P::String, &[P::String], P::Bool)]),
    ("endsWith", &[member(P::String, &[P::String], P::Bool)]),
    (
        "matches",
        &[
            member(P::String, &[P::String], P::Bool),
            global(&[P::String, P::String], P::Bool),
        ],
    ),
    // Conversions.
    (
        "bool",
        &[global(&[P::Bool], P::Bool), global(&[P::String], P::Bool)],
    ),
    (
        "bytes",
        &[
            global(&[P::Bytes], P::Bytes),
            global(&[P::String], P::Bytes),
        ],
    ),
    (
        "double",
        &[
            global(&[P::Double], P::Double),
            global(&[P::Int], P::Double),
            global(&[P::String], P::Double),
            global(&[P::Uint], P::Double),
        ],
    ),
    (
        "duration",
        &[
            global(&[P::Duration], P::Duration),
            global(&[P::String], P::Duration),
        ],
    ),
    (
        "int",
        &[
            global(&[P::Int], P::Int),
            global(&[P::Double], P::Int),
            global(&[P::Duration], P::Int),
            global(&[P::String], P::Int),
            global(&[P::Timestamp], P::Int),
            global(&[P::Uint], P::Int),
        ],
    ),
    (
        "string",
        &[
            global(&[P::String], P::String),
            global(&[P::Bool], P::String),
            global(&[P::Bytes], P::String),
            global(&[P::Double], P::String),
            global(&[P::Duration], P::String),
            global(&[P::Int], P::String),
            global(&[P::Timestamp], P::String),
            global(&[P::Uint], P::String),
            global(&[IP], P::String),
            global(&[CIDR], P::String),
        ],
    ),
    (
        "timestamp",
        &[
            global(&[P::Timestamp], P::Timestamp),
            global(&[P::Int], P::Timestamp),
            global(&[P::String], P::Timestamp),
        ],
    ),
    (
        "uint",
        &[
            global(&[P::Uint], P::Uint),
            global(&[P::Double], P::Uint),
            global(&[P::Int], P::Uint),
            global(&[P::String], P::Uint),
        ],
    ),
    ("dyn", &[global(&[P::Dyn], P::Dyn)]),
    // Times.
    ("getFullYear", TIME_PART),
    ("getMonth", TIME_PART),
    ("getDate", TIME_PART),
    ("getDayOfMonth", TIME_PART),
    ("getDayOfWeek", TIME_PART),
    ("getDayOfYear", TIME_PART),
    ("getHours", TIME_OR_DURATION_PART),
    ("getMinutes", TIME_OR_DURATION_PART),
    ("getSeconds", TIME_OR_DURATION_PART),
    ("getMilliseconds", TIME_OR_DURATION_PART),
    // Strings.
    ("charAt", &[member(P::String, &[P::Int], P::String)]),
    ("indexOf", INDEX_OF),
    ("lastIndexOf", INDEX_OF),
    (
        "join",
        &[
            member(STRINGS, &[], P::String),
            member(STRINGS, &[P::String], P::String),
        ],
    ),
    ("lowerAscii", &[member(P::String, &[], P::String)]),
    ("upperAscii", &[member(P::String, &[], P::String)]),
    ("trim", &[member(P::String, &[], P::String)]),
    (
        "format",
        &[member(P::String, &[P::List(&P::Dyn)], P::String)],
    ),
    ("strings.quote", &[global(&[P::String], P::String)]),
    (
        "replace",
        &[
            member(P::String, &[P::String, P::String], P::String),
            member(P::String, &[P::String, P::String, P::Int], P::String),
        ],
    ),
    (
        "split",
        &[
            member(P::String, &[P::String], STRINGS),
            member(P::String, &[P::String, P::Int], STRINGS),
        ],
    ),
    (
        "substring",
        &[
            member(P::String, &[P::Int], P::String),
            member(P::String, &[P::Int, P::Int], P::String),
        ],
    ),
    ("find", &[member(P::String, &[P::String], P::String)]),
    (
        "findAll",
        &[
            member(P::String, &[P::String], STRINGS),
            member(P::String, &[P::String, P::Int], STRINGS),
        ],
    ),
    // Lists.
    (
        "isSorted",
        &[
            member(P::List(&P::Int), &[], P::Bool),
            member(P::List(&P::Uint), &[], P::Bool),
            member(P::List(&P::Double), &[], P::Bool),
            member(P::List(&P::Bool), &[], P::Bool),
            member(P::List(&P::Duration), &[], P::Bool),
            member(P::List(&P::Timestamp), &[], P::Bool),
            member(P::List(&P::String), &[], P::Bool),
            member(P::List(&P::Bytes), &[], P::Bool),
        ],
    ),
    ("min", EXTREME),
    ("max", EXTREME),
    (
        "sum",
        &[
            member(P::List(&P::Int), &[], P::Int),
            member(P::List(&P::Uint), &[], P::Uint),
            member(P::List(&P::Double), &[], P::Double),
            member(P::List(&P::Duration), &[], P::Duration),
        ],
    ),
    ("distinct", &[member(LIST, &[], LIST)]),
    ("reverse", &[member(LIST, &[], LIST)]),
    ("sort", SORTED),
    (
        "flatten",
        &[
            member(P::List(&LIST), &[], LIST),
            member(P::List(&P::Dyn), &[P::Int], P::List(&P::Dyn)),
        ],
    ),
    ("slice", &[member(LIST, &[P::Int, P::Int], LIST)]),
    ("first", &[member(LIST, &[], P::Optional(&P::A))]),
    ("last", &[member(LIST, &[], P::Optional(&P::A))]),
    ("lists.range", &[global(&[P::Int], P::List(&P::Int))]),
    ("sets.contains", SETS),
    ("sets.equivalent", SETS),
    ("sets.intersects", SETS),
    // Optional values.
    ("optional.of", &[global(&[P::A], P::Optional(&P::A))]),
    (
        "optional.ofNonZeroValue",
        &[global(&[P::A], P::Optional(&P::A))],
    ),
    ("optional.none", &[global(&[], P::Optional(&P::Dyn))]),
    ("hasValue", &[member(P::Optional(&P::A), &[], P::Bool)]),
    ("value", &[member(P::Optional(&P::A), &[], P::A)]),
    (
        "or",
        &[member(
            P::Optional(&P::A),
            &[P::Optional(&P::A)],
            P::Optional(&P::A),
        )],
    ),
    ("orValue", &[member(P::Optional(&P::A), &[P::A], P::A)]),
    // URLs.
    ("url", &[global(&[P::String], URL)]),
    ("isURL", IS_TEXT),
    ("getScheme", URL_PART),
    ("getHost", URL_PART),
    ("getHostname", URL_PART),
    ("getPort", URL_PART),
    ("getEscapedPath", URL_PART),
    (
        "getQuery",
        &[member(URL, &[], P::Map(&P::String, &STRINGS))],
    ),
    // IP addresses and networks.
    ("ip", &[global(&[P::String], IP), member(CIDR, &[], IP)]),
    ("isIP", IS_TEXT),
    ("ip.isCanonical", IS_TEXT),
    ("family", &[member(IP, &[], P::Int)]),
    ("isUnspecified", IS_ADDRESS),
    ("isLoopback", IS_ADDRESS),
    ("isLinkLocalMulticast", IS_ADDRESS),
    ("isLinkLocalUnicast", IS_ADDRESS),
    ("isGlobalUnicast", IS_ADDRESS),
    ("cidr", &[global(&[P::String], CIDR)]),
    ("isCIDR", IS_TEXT),
    (
        "containsIP",
        &[
            member(CIDR, &[P::String], P::Bool),
            member(CIDR, &[IP], P::Bool),
        ],
    ),
    (
        "containsCIDR",
        &[
            member(CIDR, &[P::String], P::Bool),
            member(CIDR, &[CIDR], P::Bool),
        ],
    ),
    ("masked", &[member(CIDR, &[], CIDR)]),
    ("prefixLength", &[member(CIDR, &[], P::Int)]),
    // Quantities and semantic versions.
    ("quantity", &[global(&[P::String], QUANTITY)]),
    ("isQuantity", IS_TEXT),
    ("isInteger", &[member(QUANTITY, &[], P::Bool)]),
    ("asInteger", &[member(QUANTITY, &[], P::Int)]),
    ("asApproximateFloat", &[member(QUANTITY, &[], P::Double)]),
    // Declared without a receiver, although the documentation has one.
    ("sign", &[global(&[QUANTITY], P::Int)]),
    ("add", QUANTITY_SUM),
    ("sub", QUANTITY_SUM),
    ("isLessThan", IS_ORDERED),
    ("isGreaterThan", IS_ORDERED),
    (
        "compareTo",
        &[
            member(QUANTITY, &[QUANTITY], P::Int),
            member(SEMVER, &[SEMVER], P::Int),
        ],
    ),
    (
        "semver",
        &[
            global(&[P::String], SEMVER),
            global(&[P::String, P::Bool], SEMVER),
        ],
    ),
    (
        "isSemver",
        &[
            global(&[P::String], P::Bool),
            global(&[P::String, P::Bool], P::Bool),
        ],
    ),
    ("major", &[member(SEMVER, &[], P::Int)]),
    ("minor", &[member(SEMVER, &[], P::Int)]),
    ("patch", &[member(SEMVER, &[], P::Int)]),
    // Formats.
    (
        "format.named",
        &[global(&[P::String], P::Optional(&FORMAT))],
    ),
    (
        "validate",
        &[member(FORMAT, &[P::String], P::Optional(&STRINGS))],
    ),
    ("format.dns1123Label", NAMED_FORMAT),
    ("format.dns1123Subdomain", NAMED_FORMAT),
    ("format.dns1035Label", NAMED_FORMAT),
    ("format.qualifiedName", NAMED_FORMAT),
    ("format.dns1123LabelPrefix", NAMED_FORMAT),
    ("format.dns1123SubdomainPrefix", NAMED_FORMAT),
    ("format.dns1035LabelPrefix", NAMED_FORMAT),
    ("format.labelValue", NAMED_FORMAT),
    ("format.uri", NAMED_FORMAT),
    ("format.uuid", NAMED_FORMAT),
    ("format.byte", NAMED_FORMAT),
    ("format.date", NAMED_FORMAT),
    ("format.datetime", NAMED_FORMAT),
];

const EQUALITY: &[Overload] = &[global(&[P::A, P::A], P::Bool)];
const ORDER: &[Overload] = &[
    global(&[P::Bool, P::Bool], P::Bool),
    global(&[P::Int, P::Int], P::Bool),
    global(&[P::Int, P::Double], P::Bool),
    global(&[P::Int, P::Uint], P::Bool),
    global(&[P::Uint, P::Uint], P::Bool),
    global(&[P::Uint, P::Double], P::Bool),
    global(&[P::Uint, P::Int], P::Bool),
    global(&[P::Double, P::Double], P::Bool),
    global(&[P::Double, P::Int], P::Bool),
    global(&[P::Double, P::Uint], P::Bool),
    global(&[P::String, P::String], P::Bool),
    global(&[P::Bytes, P::Bytes], P::Bool),
    global(&[P::Timestamp, P::Timestamp], P::Bool),
    global(&[P::Duration, P::Duration], P::Bool),
];
const PRODUCT: &[Overload] = &[
    global(&[P::Double, P::Double], P::Double),
    global(&[P::Int, P::Int], P::Int),
    global(&[P::Uint, P::Uint], P::Uint),
];
const SORTED: &[Overload] = &[
    member(P::List(&P::Int), &[], P::List(&P::Int)),
    member(P::List(&P::Uint), &[], P::List(&P::Uint)),
    member(P::List(&P::Double), &[], P::List(&P::Double)),
    member(P::List(&P::Bool), &[], P::List(&P::Bool)),
    member(P::List(&P::Duration), &[], P::List(&P::Duration)),
    member(P::List(&P::Timestamp), &[], P::List(&P::Timestamp)),
    member(P::List(&P::String), &[], STRINGS),
    member(P::List(&P::Bytes), &[], P::List(&P::Bytes)),
];
const NAMED_FORMAT: &[Overload] = &[global(&[], FORMAT)];
const TIME_PART: &[Overload] = &[
    member(P::Timestamp, &[], P::Int),
    member(P::Timestamp, &[P::String], P::Int),
];
const TIME_OR_DURATION_PART: &[Overload] = &[
    member(P::Timestamp, &[], P::Int),
    member(P::Timestamp, &[P::String], P::Int),
    member(P::Duration, &[], P::Int),
];
const INDEX_OF: &[Overload] = &[
    member(P::String, &[P::String], P::Int),
    member(P::String, &[P::String, P::Int], P::Int),
    member(LIST, &[P::A], P::Int),
];
const EXTREME: &[Overload] = &[
    member(P::List(&P::Int), &[], P::Int),
    member(P::List(&P::Uint), &[], P::Uint),
    member(P::List(&P::Double), &[], P::Double),
    member(P::List(&P::Bool), &[], P::Bool),
    member(P::List(&P::Duration), &[], P::Duration),
    member(P::List(&P::Timestamp), &[], P::Timestamp),
    member(P::List(&P::String), &[], P::String),
    member(P::List(&P::Bytes), &[], P::Bytes),
];
const SETS: &[Overload] = &[global(&[LIST, LIST], P::Bool)];
const IS_TEXT: &[Overload] = &[global(&[P::String], P::Bool)];
const URL_PART: &[Overload] = &[member(URL, &[], P::String)];
const IS_ADDRESS: &[Overload] = &[member(IP, &[], P::Bool)];
const QUANTITY_SUM: &[Overload] = &[
    member(QUANTITY, &[QUANTITY], QUANTITY),
    member(QUANTITY, &[P::Int], QUANTITY),
];
const IS_ORDERED: &[Overload] = &[
    member(QUANTITY, &[QUANTITY], P::Bool),
    member(SEMVER, &[SEMVER], P::Bool),
];

/// The result of a call; `None` if the function is not listed.
///
/// # Errors
/// No overload takes the types.
pub(super) fn call<'s>(
    name: &str,
    target: Option<&Type<'s>>,
    arguments: &[Type<'s>],
) -> Option<Result<Type<'s>, NoOverload>> {
    let (_, overloads) = FUNCTIONS.iter().find(|(own, _)| *own == name)?;
    let mut results = overloads
        .iter()
        .filter_map(|overload| overload.result_for(target, arguments));
    let Some(first) = results.next() else {
        return Some(Err(NoOverload));
    };
    // With arguments of unknown types several overloads match.
    let same = results.all(|result| result == first);
    Some(Ok(if same { first } else { Type::Any }))
}

/// No overload takes the types of a call.
pub(super) struct NoOverload;

impl Overload {
    fn result_for<'s>(
        &self,
        target: Option<&Type<'s>>,
        arguments: &[Type<'s>],
    ) -> Option<Type<'s>> {
        if self.receiver.is_some() != target.is_some() || self.arguments.len() != arguments.len() {
            return None;
        }
        let declared = self.receiver.iter().chain(self.arguments);
        let mut parameters = Parameters::default();
        let mut found = target.into_iter().chain(arguments).zip(declared);
        let matches = found.all(|(of, declared)| declared.accepts(of, &mut parameters));
        matches.then(|| self.result.resolve(&parameters))
    }
}

/// The types that the type parameters of a call stand for.
#[derive(Default)]
struct Parameters<'s> {
    a: Option<Type<'s>>,
    b: Option<Type<'s>>,
}

/// Binds a type parameter, or compares it with the type it stands for.
fn bind<'s>(parameter: &mut Option<Type<'s>>, of: &Type<'s>) -> bool {
    let Some(bound) = parameter else {
        *parameter = Some(of.clone());
        return true;
    };
    let is_same = unify(bound, of);
    *bound = bound.most_general(of);
    is_same
}

impl P {
    /// Whether a value of a type can be passed; binds the type parameters.
    fn accepts<'s>(&self, of: &Type<'s>, parameters: &mut Parameters<'s>) -> bool {
        match (self, of) {
            (Self::Dyn, _) => true,
            (Self::A, of) => bind(&mut parameters.a, of),
            (Self::B, of) => bind(&mut parameters.b, of),
            (Self::List(item), Type::List(of)) | (Self::Optional(item), Type::Optional(of)) => {
                item.accepts(of, parameters)
            }
            (Self::Map(key, value), Type::Map(of_key, of_value)) => {
                key.accepts(of_key, parameters) && value.accepts(of_value, parameters)
            }
            (declared, of) => unify(&declared.resolve(&Parameters::default()), of),
        }
    }

    /// The type, with those of the parameters.
    fn resolve<'s>(&self, parameters: &Parameters<'s>) -> Type<'s> {
        let inner = |of: &Self| Box::new(of.resolve(parameters));
        match self {
            Self::Dyn => Type::Any,
            Self::Bool => Type::Bool,
            Self::Int => Type::Int,
            Self::Uint => Type::Uint,
            Self::Double => Type::Double,
            Self::String => Type::String,
            Self::Bytes => Type::Bytes,
            Self::Duration => Type::Duration,
            Self::Timestamp => Type::Timestamp,
            Self::Opaque(name) => Type::Opaque(name),
            Self::A => parameters.a.clone().unwrap_or(Type::Any),
            Self::B => parameters.b.clone().unwrap_or(Type::Any),
            Self::List(item) => Type::List(inner(item)),
            Self::Map(key, value) => Type::Map(inner(key), inner(value)),
            Self::Optional(value) => Type::Optional(inner(value)),
        }
    }
}
