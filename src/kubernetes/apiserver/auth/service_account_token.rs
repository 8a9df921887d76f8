//! Service account tokens: JWTs signed and verified by this server.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    UnparsedPublicKey,
};
use serde_json::{Value, json};

/// The issuer of the tokens and their default audience.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// The issuer of the tokens in Secrets.
pub(crate) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// The signing key.
pub(crate) struct ServiceAccountTokenKey {
    key: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
}

/// The key could not be generated or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot generate a signing key for service account tokens")]
pub(crate) struct TokenKeyError;

impl ServiceAccountTokenKey {
    /// Generates a new key, as PKCS#8.
    ///
    /// # Errors
    /// [`TokenKeyError`] without a random source.
    pub(crate) fn generate() -> Result<Vec<u8>, TokenKeyError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new());
        Ok(document.map_err(|_| TokenKeyError)?.as_ref().to_vec())
    }

    /// The key of a PKCS#8 document.
    ///
    /// # Errors
    /// [`TokenKeyError`] if it is not a key of the algorithm.
    pub(crate) fn from_pkcs8(document: &[u8]) -> Result<Self, TokenKeyError> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key =
            EcdsaKeyPair::from_pkcs8(algorithm, document, &random).map_err(|_| TokenKeyError)?;
        let digest = ring::digest::digest(&ring::digest::SHA256, key.public_key().as_ref());
        Ok(Self {
            id: URL_SAFE_NO_PAD.encode(digest),
            key,
            random,
        })
    }

    /// Signs a token with the given claims. `None` without a random source.
    pub(crate) fn sign(&self, claims: &Value) -> Option<String> {
        let header = json!({"alg": "ES256", "kid": self.id});
        let encode = |v: &Value| URL_SAFE_NO_PAD.encode(v.to_string());
        let text = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.key.sign(&self.random, text.as_bytes()).ok()?;
        Some(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token signed by this server and not expired at `now` (Unix seconds).
    pub(crate) fn verify(&self, token: &str, now: i64) -> Option<Value> {
        let claims = self.signed_claims(token)?;
        let valid = claims["iss"] == ISSUER && claims["exp"].as_i64()? > now;
        valid.then_some(claims)
    }

    /// The claims of a token of a Secret, which does not expire.
    pub(crate) fn verify_legacy(&self, token: &str) -> Option<Value> {
        let claims = self.signed_claims(token)?;
        (claims["iss"] == LEGACY_ISSUER).then_some(claims)
    }

    /// The claims of a token signed by this server.
    fn signed_claims(&self, token: &str) -> Option<Value> {
        let (text, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key().as_ref())
            .verify(text.as_bytes(), &signature)
            .ok()?;
        let (_, claims) = text.split_once('.')?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }

    /// The public key as a JSON web key set.
    pub(crate) fn json_web_key_set(&self) -> Value {
        // An uncompressed point: a marker byte, then 32 bytes each of x and y.
        let point = self.key.public_key().as_ref();
        let part = |range: std::ops::Range<usize>| {
            URL_SAFE_NO_PAD.encode(point.get(range).unwrap_or_default())
        };
        json!({"keys": [{
            "use": "sig",
            "kty": "EC",
            "kid": self.id,
            "crv": "P-256",
            "alg": "ES256",
            "x": part(1..33),
            "y": part(33..65),
        }]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_key() -> ServiceAccountTokenKey {
        let document = ServiceAccountTokenKey::generate().unwrap();
        ServiceAccountTokenKey::from_pkcs8(&document).unwrap()
    }

    #[test]
    fn a_token_is_valid_until_it_expires_and_not_when_altered() {
        let key = new_key();
        let token = key
            .sign(&json!({"iss": ISSUER, "exp": 100, "sub": "x"}))
            .unwrap();
        assert_eq!(key.verify(&token, 99).unwrap()["sub"], "x");
        assert_eq!(key.verify(&token, 100), None);
        assert_eq!(new_key().verify(&token, 99), None);
        let (head, tail) = token.split_once('.').unwrap();
        let forged = URL_SAFE_NO_PAD.encode(json!({"iss": ISSUER, "exp": 999}).to_string());
        let signature = tail.rsplit_once('.').unwrap().1;
        assert_eq!(
            key.verify(&format!("{head}.{forged}.{signature}"), 99),
            None
        );
        let (claims, _) = tail.split_once('.').unwrap();
        let unsigned = URL_SAFE_NO_PAD.encode(json!({"alg": "none"}).to_string());
        for signature in ["", signature] {
            let token = format!("{unsigned}.{claims}.{signature}");
            assert_eq!(key.verify(&token, 99), None);
        }
        assert_eq!(key.verify("nonsense", 0), None);
    }
}
