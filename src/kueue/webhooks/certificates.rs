//! Certificates of the webhook server: a self-signed certificate authority and the serving
//! certificates it signs.
//!
//! Clients trust the authority through `caBundle`, so a renewed serving certificate needs no update
//! of it. Where a [`CertificateBundle`] is stored is up to the caller.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoClientAuth, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const DAY: i64 = 24 * 3600;
/// `notBefore` is this long ago, to allow for clock skew.
const SKEW: SignedDuration = SignedDuration::from_secs(3600);

/// The reason that there is no usable certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A certificate cannot be generated.
    #[error("cannot generate a certificate: {0}")]
    Generate(#[from] rcgen::Error),
    /// A stored certificate cannot be parsed.
    #[error("cannot parse a certificate: {0}")]
    Parse(String),
    /// The TLS library rejects it.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// Lifetimes of certificates and when to renew them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateLifetimes {
    /// Lifetime of the certificate authority.
    pub authority: SignedDuration,
    /// Lifetime of a serving certificate.
    pub server: SignedDuration,
    /// A certificate is renewed this long before it expires.
    pub renew_before: SignedDuration,
    /// The interval of the checks for expiry.
    pub check_interval: Duration,
}

impl Default for CertificateLifetimes {
    /// Ten years, one year, 90 days, one hour.
    fn default() -> Self {
        Self {
            authority: SignedDuration::from_secs(10 * 365 * DAY),
            server: SignedDuration::from_secs(365 * DAY),
            renew_before: SignedDuration::from_secs(90 * DAY),
            check_interval: Duration::from_secs(3600),
        }
    }
}

impl CertificateLifetimes {
    /// Lifetimes in proportion to that of the serving certificate.
    pub fn for_server_lifetime(server: Duration) -> Self {
        let whole = SignedDuration::try_from(server).unwrap_or(SignedDuration::MAX);
        Self {
            authority: whole.saturating_mul(3),
            server: whole,
            renew_before: whole / 4,
            check_interval: server / 16,
        }
    }
}

/// The validity period of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Not before.
    pub not_before: Timestamp,
    /// Not after.
    pub not_after: Timestamp,
}

impl Validity {
    fn of(now: Timestamp, length: SignedDuration) -> Self {
        Self {
            not_before: now.saturating_sub(SKEW).unwrap_or(now),
            not_after: now.saturating_add(length).unwrap_or(Timestamp::MAX),
        }
    }

    fn put(self, params: &mut CertificateParams) {
        // The epoch is the lower bound.
        let seconds = |t: Timestamp| Duration::from_secs(t.as_second().max(0).unsigned_abs());
        let epoch = rcgen::date_time_ymd(1970, 1, 1);
        params.not_before = epoch + seconds(self.not_before);
        params.not_after = epoch + seconds(self.not_after);
    }

    fn needs_renewal(self, now: Timestamp, lifetimes: CertificateLifetimes) -> bool {
        now < self.not_before || self.not_after.duration_since(now) < lifetimes.renew_before
    }
}

/// A certificate authority and a serving certificate it signed, in PEM. Contains private keys.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateBundle {
    /// Certificates that clients trust: the current authority, then the previous one.
    pub authority: String,
    /// Private key of the authority.
    pub authority_key: String,
    /// The serving certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl fmt::Debug for CertificateBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bundle").finish_non_exhaustive()
    }
}

impl CertificateBundle {
    /// Generates an authority and a serving certificate for DNS names and IP addresses.
    ///
    /// # Errors
    /// Keys or certificates cannot be generated.
    pub fn generate(
        hosts: &[String],
        lifetimes: CertificateLifetimes,
        now: Timestamp,
    ) -> Result<Self, CertificateError> {
        let (authority, key) = generate_authority(now, lifetimes)?;
        let validity = Validity::of(now, lifetimes.server);
        Self::sign(authority, key, hosts, validity)
    }

    /// Issues a serving certificate for these hosts with the same authority.
    ///
    /// # Errors
    /// The authority cannot be parsed, or the certificate cannot be generated.
    pub fn reissue(&self, hosts: &[String], validity: Validity) -> Result<Self, CertificateError> {
        let (authority, key) = (self.authority.clone(), self.authority_key.clone());
        Self::sign(authority, key, hosts, validity)
    }

    /// The replacement of this bundle, if it is invalid, expires soon or does not cover the hosts.
    /// A new authority is followed by the previous one, which stays trusted.
    ///
    /// # Errors
    /// Keys or certificates cannot be generated.
    pub fn renewed(
        &self,
        hosts: &[String],
        lifetimes: CertificateLifetimes,
        now: Timestamp,
    ) -> Result<Option<Self>, CertificateError> {
        let fresh_validity = Validity::of(now, lifetimes.server);
        let Ok(trusted) = validity(&self.authority) else {
            return Self::generate(hosts, lifetimes, now).map(Some);
        };
        if trusted.needs_renewal(now, lifetimes) {
            let (fresh, key) = generate_authority(now, lifetimes)?;
            let old = self
                .authority
                .split_inclusive("-----END CERTIFICATE-----\n");
            let both = fresh + old.take(1).collect::<String>().as_str();
            return Self::sign(both, key, hosts, fresh_validity).map(Some);
        }
        let is_valid = validity(&self.certificate).is_ok_and(|v| !v.needs_renewal(now, lifetimes))
            && covers(&self.certificate, hosts)
            && self.certified_key().is_ok();
        match is_valid {
            true => Ok(None),
            false => self.reissue(hosts, fresh_validity).map(Some),
        }
    }

    fn sign(
        authority: String,
        authority_key: String,
        hosts: &[String],
        validity: Validity,
    ) -> Result<Self, CertificateError> {
        let issuer = Issuer::from_ca_cert_pem(&authority, KeyPair::from_pem(&authority_key)?)?;
        let names: Vec<String> = hosts
            .iter()
            .filter(|h| h.parse::<IpAddr>().is_err())
            .cloned()
            .collect();
        let mut params = CertificateParams::new(names)?;
        let addresses = hosts.iter().filter_map(|h| h.parse().ok());
        params
            .subject_alt_names
            .extend(addresses.map(SanType::IpAddress));
        params
            .distinguished_name
            .push(DnType::CommonName, "kueue-lab-webhooks");
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        validity.put(&mut params);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?.pem();
        Ok(Self {
            authority,
            authority_key,
            certificate,
            key: key.serialize_pem(),
        })
    }

    fn certified_key(&self) -> Result<CertifiedKey, CertificateError> {
        let parse_error = |e: rustls::pki_types::pem::Error| CertificateError::Parse(e.to_string());
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(parse_error)?;
        let key = rustls::crypto::ring::sign::any_supported_type(&key)?;
        let certified_key = CertifiedKey::new(chain.map_err(parse_error)?, key);
        certified_key.keys_match()?;
        Ok(certified_key)
    }
}

fn generate_authority(
    now: Timestamp,
    lifetimes: CertificateLifetimes,
) -> Result<(String, String), CertificateError> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "kueue-lab-ca");
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Validity::of(now, lifetimes.authority).put(&mut params);
    let key = KeyPair::generate()?;
    let pem = params.self_signed(&key)?.pem().replace("\r\n", "\n");
    Ok((pem, key.serialize_pem()))
}

/// Parses the first certificate of a PEM text.
fn read_first_certificate<T>(
    pem: &str,
    read: impl FnOnce(&X509Certificate<'_>) -> T,
) -> Result<T, CertificateError> {
    let parse_error = |e: &dyn fmt::Display| CertificateError::Parse(e.to_string());
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|e| parse_error(&e))?;
    let (_, certificate) = X509Certificate::from_der(&der).map_err(|e| parse_error(&e))?;
    Ok(read(&certificate))
}

/// The validity period of the first certificate of a PEM text.
///
/// # Errors
/// No certificate can be parsed.
pub fn validity(pem: &str) -> Result<Validity, CertificateError> {
    let timestamp = |seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN);
    read_first_certificate(pem, |certificate| {
        let validity = certificate.validity();
        Validity {
            not_before: timestamp(validity.not_before.timestamp()),
            not_after: timestamp(validity.not_after.timestamp()),
        }
    })
}

/// Whether a certificate covers all hosts.
fn covers(pem: &str, hosts: &[String]) -> bool {
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let named = read_first_certificate(pem, |certificate| {
        let names = certificate.subject_alternative_name().ok().flatten();
        let names = names.map(|n| n.value.general_names.clone());
        let names = names.unwrap_or_default();
        hosts.iter().all(|host| {
            names.iter().any(|name| match name {
                GeneralName::DNSName(name) => name == host,
                GeneralName::IPAddress(bytes) => host.parse().is_ok_and(|ip| octets(ip) == *bytes),
                _ => false,
            })
        })
    });
    named.unwrap_or(false)
}

/// The serving certificate, replaceable while connections are open. Clones share it.
#[derive(Clone)]
pub struct ServingCertificate {
    shared: Arc<CertificateResolver>,
}

#[derive(Debug)]
struct CertificateResolver {
    bundle: ArcSwap<CertificateBundle>,
    key: ArcSwap<CertifiedKey>,
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.key.load_full())
    }
}

impl ServingCertificate {
    /// Serves a bundle.
    ///
    /// # Errors
    /// The bundle cannot be parsed.
    pub fn new(bundle: CertificateBundle) -> Result<Self, CertificateError> {
        let key = bundle.certified_key()?;
        Ok(Self {
            shared: Arc::new(CertificateResolver {
                bundle: ArcSwap::from_pointee(bundle),
                key: ArcSwap::from_pointee(key),
            }),
        })
    }

    /// Replaces the bundle from the next handshake on.
    ///
    /// # Errors
    /// The bundle cannot be parsed; the previous one stays.
    pub fn replace(&self, bundle: CertificateBundle) -> Result<(), CertificateError> {
        let key = bundle.certified_key()?;
        self.shared.key.store(Arc::new(key));
        self.shared.bundle.store(Arc::new(bundle));
        Ok(())
    }

    /// The current bundle.
    pub fn bundle(&self) -> Arc<CertificateBundle> {
        self.shared.bundle.load_full()
    }

    /// The TLS configuration that resolves the current certificate per handshake, for HTTP/1 and
    /// HTTP/2.
    ///
    /// # Errors
    /// The TLS library rejects it.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        self.config(Arc::new(NoClientAuth), &[b"h2", b"http/1.1"])
    }

    /// [`Self::server_config`] for clients with a certificate of an authority in `client_ca` (PEM).
    ///
    /// # Errors
    /// `client_ca` has no certificate, or the TLS library rejects it.
    pub fn client_verifying_config(
        &self,
        client_ca: &str,
    ) -> Result<Arc<ServerConfig>, CertificateError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(client_ca.as_bytes()) {
            let certificate = certificate.map_err(|e| CertificateError::Parse(e.to_string()))?;
            roots.add(certificate)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build();
        let verifier = verifier.map_err(|e| CertificateError::Parse(e.to_string()))?;
        self.config(verifier, &[b"h2", b"http/1.1"])
    }

    /// [`Self::server_config`] for HTTP/1 only.
    ///
    /// # Errors
    /// The TLS library rejects it.
    pub fn http1_config(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        self.config(Arc::new(NoClientAuth), &[b"http/1.1"])
    }

    fn config(
        &self,
        verifier: Arc<dyn ClientCertVerifier>,
        protocols: &[&[u8]],
    ) -> Result<Arc<ServerConfig>, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(self.shared.clone());
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Vec<String> {
        vec!["hooks.example.dev".into(), "127.0.0.1".into()]
    }

    fn now() -> Timestamp {
        "2026-03-02T12:00:00Z".parse().unwrap()
    }

    fn later(days: i64) -> Timestamp {
        now()
            .checked_add(SignedDuration::from_secs(days * DAY))
            .unwrap()
    }

    #[test]
    fn serving_certificate_is_renewed_by_the_same_authority() {
        let bundle =
            CertificateBundle::generate(&hosts(), CertificateLifetimes::default(), now()).unwrap();
        assert_eq!(
            bundle
                .renewed(&hosts(), CertificateLifetimes::default(), now())
                .unwrap(),
            None
        );
        assert_eq!(
            bundle
                .renewed(&hosts(), CertificateLifetimes::default(), later(200))
                .unwrap(),
            None
        );
        let renewed = bundle
            .renewed(&hosts(), CertificateLifetimes::default(), later(300))
            .unwrap()
            .unwrap();
        assert_eq!(renewed.authority, bundle.authority);
        assert_ne!(renewed.certificate, bundle.certificate);
        let until = validity(&renewed.certificate).unwrap().not_after;
        assert!(until > later(660) && until < later(670), "{until}");
    }

    #[test]
    fn renewed_bundle_trusts_the_previous_authority() {
        let bundle =
            CertificateBundle::generate(&hosts(), CertificateLifetimes::default(), now()).unwrap();
        let renewed = bundle
            .renewed(&hosts(), CertificateLifetimes::default(), later(3640))
            .unwrap()
            .unwrap();
        assert!(renewed.authority.ends_with(&bundle.authority));
        assert_eq!(renewed.authority.matches("BEGIN CERT").count(), 2);
        let again = renewed
            .renewed(&hosts(), CertificateLifetimes::default(), later(7280))
            .unwrap()
            .unwrap();
        assert_eq!(again.authority.matches("BEGIN CERT").count(), 2);
        assert!(ServingCertificate::new(again).is_ok());
    }

    #[test]
    fn other_hosts_are_reissued() {
        let bundle =
            CertificateBundle::generate(&hosts(), CertificateLifetimes::default(), now()).unwrap();
        let more = [hosts(), vec!["10.0.0.1".into()]].concat();
        assert!(
            bundle
                .renewed(&more, CertificateLifetimes::default(), now())
                .unwrap()
                .is_some()
        );
        let fewer = vec!["127.0.0.1".to_owned()];
        assert_eq!(
            bundle
                .renewed(&fewer, CertificateLifetimes::default(), now())
                .unwrap(),
            None
        );
    }

    #[test]
    fn validity_allows_skew_and_invalid_bundles_are_replaced() {
        let bundle =
            CertificateBundle::generate(&hosts(), CertificateLifetimes::default(), now()).unwrap();
        let from = validity(&bundle.certificate).unwrap().not_before;
        assert!(now().duration_since(from) >= SignedDuration::from_mins(5));
        let damaged = CertificateBundle {
            key: bundle.authority_key.clone(),
            ..bundle
        };
        assert!(
            damaged
                .renewed(&hosts(), CertificateLifetimes::default(), now())
                .unwrap()
                .is_some()
        );
        assert!(ServingCertificate::new(damaged).is_err());
    }
}
