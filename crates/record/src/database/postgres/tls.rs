//! Encrypted connections to PostgreSQL. `sslmode` has the same meaning as in libpq.
//!
//! `prefer` and `require` encrypt without verifying the certificate, except that `require` verifies it if `sslrootcert` is
//! given. `verify-ca` requires that a trusted root signed the certificate. `verify-full` also requires that it is valid for
//! the host. The trusted roots are those of `sslrootcert`, or else the system's.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::target::{Params, TargetError};

/// The TLS configuration for the parameters of a URL.
pub(super) fn client_config(params: &Params) -> Result<ClientConfig, TargetError> {
    let provider = Arc::new(ring::default_provider());
    let roots = params.get("sslrootcert").filter(|path| *path != "system");
    let verifier: Arc<dyn ServerCertVerifier> = match (params.get("sslmode").unwrap_or("prefer"), roots) {
        ("verify-full", _) => webpki(params, &provider)?,
        ("verify-ca", _) | ("require", Some(_)) => {
            Arc::new(AnyHost { roots: Some(webpki(params, &provider)?), provider: provider.clone() })
        }
        _ => Arc::new(AnyHost { roots: None, provider: provider.clone() }),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TargetError::new(format!("TLS cannot be used: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

fn webpki(params: &Params, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TargetError> {
    let roots = match params.get("sslrootcert").filter(|path| *path != "system") {
        Some(path) => roots_of(Path::new(path))?,
        None => system_roots()?,
    };
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| TargetError::new(format!("the root certificates cannot be used: {error}")))
}

fn roots_of(path: &Path) -> Result<RootCertStore, TargetError> {
    let wrong =
        |error: String| TargetError::new(format!("sslrootcert: {} cannot be read: {error}", path.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))? {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("it has no certificate".to_owned())) } else { Ok(roots) }
}

fn system_roots() -> Result<RootCertStore, TargetError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(TargetError::new(
            "this system has no root certificates to verify the server by: name a file with sslrootcert",
        ));
    }
    Ok(roots)
}

/// Does not check the host. Accepts a certificate that a trusted root signed, or any certificate without roots. The server
/// must always have the key of its certificate.
#[derive(Debug)]
struct AnyHost {
    roots: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        match roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is checked last, so everything else is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
