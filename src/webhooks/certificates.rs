//! Certificates of the webhook server: an authority of our own, and what it signs.
//!
//! A cluster is told to trust the authority, so a new server certificate needs no word to anybody.
//! Must not know where a [`CertificateBundle`] is kept.

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
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const DAY: i64 = 24 * 3600;
/// Certificates begin to be good this long ago, for clocks that are behind.
const SKEW: SignedDuration = SignedDuration::from_secs(3600);

/// Why there is no usable certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// One could not be made.
    #[error("making a certificate: {0}")]
    Making(#[from] rcgen::Error),
    /// One that was kept cannot be read.
    #[error("reading a certificate: {0}")]
    Reading(String),
    /// The TLS library refuses it.
    #[error("setting up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// How long certificates are good for, and when they are made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateLifetimes {
    /// How long an authority is good for.
    pub authority: SignedDuration,
    /// How long a server certificate is good for.
    pub server: SignedDuration,
    /// What ends sooner than this is made anew.
    pub renew_before: SignedDuration,
    /// How often is looked whether it is time.
    pub check_interval: Duration,
}

impl Default for CertificateLifetimes {
    /// Ten years, a year, 90 days; looked at every hour.
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
    /// For a server certificate that is good for so long; all else is in proportion.
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

/// From when to when a certificate is good.
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
        // Before 1970 nothing of ours is good.
        let seconds = |t: Timestamp| Duration::from_secs(t.as_second().max(0).unsigned_abs());
        let epoch = rcgen::date_time_ymd(1970, 1, 1);
        params.not_before = epoch + seconds(self.not_before);
        params.not_after = epoch + seconds(self.not_after);
    }

    fn needs_renewal(self, now: Timestamp, lifetimes: CertificateLifetimes) -> bool {
        now < self.not_before || self.not_after.duration_since(now) < lifetimes.renew_before
    }
}

/// An authority and a server certificate it signed, all as PEM. Holds private keys.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateBundle {
    /// Certificates clients trust: the authority that signs, then the one before it.
    pub authority: String,
    /// Private key of the authority.
    pub authority_key: String,
    /// The server's certificate.
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
    /// A new authority, and a certificate for hosts of these names and addresses.
    ///
    /// # Errors
    /// Keys or certificates cannot be made.
    pub fn generate(
        hosts: &[String],
        lifetimes: CertificateLifetimes,
        now: Timestamp,
    ) -> Result<Self, CertificateError> {
        let (authority, key) = generate_authority(now, lifetimes)?;
        let validity = Validity::of(now, lifetimes.server);
        Self::sign(authority, key, hosts, validity)
    }

    /// A certificate for these hosts, good as long as said, by the same authority.
    ///
    /// # Errors
    /// The authority cannot be read or the certificate cannot be made.
    pub fn reissue(&self, hosts: &[String], validity: Validity) -> Result<Self, CertificateError> {
        let (authority, key) = (self.authority.clone(), self.authority_key.clone());
        Self::sign(authority, key, hosts, validity)
    }

    /// What is to take this one's place, if it is damaged, ends soon or is not for these hosts.
    /// Clients that trust the old one trust the new one as far as that can be.
    ///
    /// # Errors
    /// Keys or certificates cannot be made.
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
        let good = validity(&self.certificate).is_ok_and(|v| !v.needs_renewal(now, lifetimes))
            && covers(&self.certificate, hosts)
            && self.certified_key().is_ok();
        match good {
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
        let reading = |e: rustls::pki_types::pem::Error| CertificateError::Reading(e.to_string());
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(reading)?;
        let key = rustls::crypto::ring::sign::any_supported_type(&key)?;
        let certified = CertifiedKey::new(chain.map_err(reading)?, key);
        certified.keys_match()?;
        Ok(certified)
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

/// Reads the first certificate of a PEM text.
fn read_first_certificate<T>(
    pem: &str,
    read: impl FnOnce(&X509Certificate<'_>) -> T,
) -> Result<T, CertificateError> {
    let reading = |e: &dyn fmt::Display| CertificateError::Reading(e.to_string());
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|e| reading(&e))?;
    let (_, certificate) = X509Certificate::from_der(&der).map_err(|e| reading(&e))?;
    Ok(read(&certificate))
}

/// From when to when the first certificate of a PEM text is good.
///
/// # Errors
/// There is none that can be read.
pub fn validity(pem: &str) -> Result<Validity, CertificateError> {
    let moment = |seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN);
    read_first_certificate(pem, |certificate| {
        let validity = certificate.validity();
        Validity {
            not_before: moment(validity.not_before.timestamp()),
            not_after: moment(validity.not_after.timestamp()),
        }
    })
}

/// Whether a certificate is for all these hosts.
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

/// The certificate in use; can be exchanged while connections are open. Clones share it.
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
    /// Uses a bundle.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn new(bundle: CertificateBundle) -> Result<Self, CertificateError> {
        let key = bundle.certified_key()?;
        Ok(Self {
            shared: Arc::new(CertificateResolver {
                bundle: ArcSwap::from_pointee(bundle),
                key: ArcSwap::from_pointee(key),
            }),
        })
    }

    /// Uses another bundle from the next handshake on.
    ///
    /// # Errors
    /// It cannot be read; then the one before stays.
    pub fn replace(&self, bundle: CertificateBundle) -> Result<(), CertificateError> {
        let key = bundle.certified_key()?;
        self.shared.key.store(Arc::new(key));
        self.shared.bundle.store(Arc::new(bundle));
        Ok(())
    }

    /// What is in use.
    pub fn bundle(&self) -> Arc<CertificateBundle> {
        self.shared.bundle.load_full()
    }

    /// How to serve with whatever certificate is in use at the time.
    ///
    /// # Errors
    /// The TLS library refuses.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.shared.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
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
    fn a_certificate_is_renewed_before_it_ends_and_by_the_same_authority() {
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
    fn an_authority_that_ends_is_trusted_until_its_successor_is() {
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
    fn other_hosts_need_another_certificate() {
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
    fn clocks_may_be_behind_and_damage_is_mended() {
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
