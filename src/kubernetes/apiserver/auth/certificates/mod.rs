//! The certificate authorities of the cluster, and users of client certificates.

mod certificate_authority;
mod certificate_request;
mod client_certificate;
mod cluster_certificates;
mod subject;

pub(crate) use certificate_authority::TlsError;
pub(crate) use certificate_authority::{CertificateAuthority, SignedRequest};
pub(crate) use certificate_request::CertificateRequest;
pub(crate) use client_certificate::ClientCertificateVerifier;
pub(crate) use cluster_certificates::{
    AUTHORITY, ClusterCertificates, FRONT_PROXY_AUTHORITY, FRONT_PROXY_CLIENT,
};
