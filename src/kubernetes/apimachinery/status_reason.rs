//! [`StatusReason`]: the reason of a `v1.Status`, as `metav1.StatusReason`.

/// The machine-readable reason of an API error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusReason {
    /// None; the field is absent.
    #[default]
    Unknown,
    /// The client is not authenticated.
    Unauthorized,
    /// The client may not do this.
    Forbidden,
    /// The object or path does not exist.
    NotFound,
    /// An object with this name exists.
    AlreadyExists,
    /// The write conflicts with the state of the object.
    Conflict,
    /// The object is not available any more, and has no new address.
    Gone,
    /// The object has invalid fields.
    Invalid,
    /// The request can be repeated after a while.
    ServerTimeout,
    /// The request took too long.
    Timeout,
    /// The client is to wait before the next request.
    TooManyRequests,
    /// The request cannot be understood.
    BadRequest,
    /// The resource does not have the method.
    MethodNotAllowed,
    /// No accepted media type can be served.
    NotAcceptable,
    /// The body is too large.
    RequestEntityTooLarge,
    /// The media type of the body is unknown.
    UnsupportedMediaType,
    /// The server is faulty.
    InternalError,
    /// The resourceVersion or continue token is too old.
    Expired,
    /// A part of the server is not ready.
    ServiceUnavailable,
    /// The server lacks the feature.
    NotImplemented,
    /// The disk of the data directory is full.
    InsufficientStorage,
}

impl StatusReason {
    /// Those with a name.
    const NAMED: [Self; 20] = [
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::AlreadyExists,
        Self::Conflict,
        Self::Gone,
        Self::Invalid,
        Self::ServerTimeout,
        Self::Timeout,
        Self::TooManyRequests,
        Self::BadRequest,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::RequestEntityTooLarge,
        Self::UnsupportedMediaType,
        Self::InternalError,
        Self::Expired,
        Self::ServiceUnavailable,
        Self::NotImplemented,
        Self::InsufficientStorage,
    ];

    /// The reason as the API names it; empty if there is none.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Invalid => "Invalid",
            Self::ServerTimeout => "ServerTimeout",
            Self::Timeout => "Timeout",
            Self::TooManyRequests => "TooManyRequests",
            Self::BadRequest => "BadRequest",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::InternalError => "InternalError",
            Self::Expired => "Expired",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::NotImplemented => "NotImplemented",
            Self::InsufficientStorage => "InsufficientStorage",
        }
    }

    /// The reason with a name; [`StatusReason::Unknown`] for another text.
    pub fn named(text: &str) -> Self {
        let mut named = Self::NAMED.into_iter();
        named
            .find(|reason| reason.as_str() == text)
            .unwrap_or_default()
    }
}
