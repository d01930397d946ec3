//! Certificates for tests of encryption: a root, a server certificate for `localhost` signed by it, and a
//! root that signed nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub(crate) struct Certificates {
    directory: TempDir,
}

impl Certificates {
    /// Creates them. The key is readable by `user` only, as servers require.
    pub(crate) fn make(user: &str) -> Certificates {
        let directory = TempDir::with_prefix("isoscope-certificates-").expect("a directory");
        let certificates = Certificates { directory };
        let at = certificates.directory.path();
        let subject = ["-subj", "/CN=isoscope test"];
        for name in ["root", "stranger"] {
            let (key, cert) = (format!("{name}.key"), format!("{name}.crt"));
            let new = [
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
            ];
            openssl(at, &[&new[..], &subject, &["-keyout", &key, "-out", &cert]].concat());
        }
        std::fs::write(at.join("names"), "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
            .expect("a file");
        let request = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        openssl(
            at,
            &[&request[..], &["-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"]]
                .concat(),
        );
        let sign =
            ["x509", "-req", "-in", "server.csr", "-CA", "root.crt", "-CAkey", "root.key", "-CAcreateserial"];
        openssl(at, &[&sign[..], &["-days", "2", "-extfile", "names", "-out", "server.crt"]].concat());
        // As root, the server runs as another user. Otherwise this fails, and the files already belong to the
        // server's user.
        let _ = Command::new("chown").arg("-R").arg(user).arg(at).output();
        certificates
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The directory of the files. The server also uses it for its sockets.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn root(&self) -> String {
        self.path("root.crt").display().to_string()
    }

    pub(crate) fn stranger(&self) -> String {
        self.path("stranger.crt").display().to_string()
    }

    pub(crate) fn postgres_settings(&self) -> [String; 4] {
        let (certificate, key) = (self.path("server.crt"), self.path("server.key"));
        [
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", certificate.display()),
            format!("ssl_key_file={}", key.display()),
            format!("unix_socket_directories={}", self.directory.path().display()),
        ]
    }

    pub(crate) fn mariadb_settings(&self) -> [String; 2] {
        let (certificate, key) = (self.path("server.crt"), self.path("server.key"));
        [format!("ssl_cert={}", certificate.display()), format!("ssl_key={}", key.display())]
    }
}

fn openssl(at: &Path, arguments: &[&str]) {
    let output = Command::new("openssl").current_dir(at).args(arguments).output().expect("openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
