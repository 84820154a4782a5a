//! Where everything lies.
//!
//! The directories above a data directory belong to the platform, so that a server cannot change the names in them; what
//! its user must read there belongs to that user, file by file.

use std::path::{Path, PathBuf};

use super::super::{Error, Number};

/// The paths below one directory.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) root: PathBuf,
}

impl Places {
    /// The prepared, empty data directory of a version.
    pub(super) fn template(&self, version: &str) -> PathBuf {
        self.root.join("templates").join(version)
    }

    /// The secret that the passwords of the administrators come from.
    pub(super) fn superuser(&self) -> PathBuf {
        self.root.join("superuser")
    }

    /// Records of processes, and what short-lived programs said.
    pub(super) fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    pub(super) fn clusters(&self) -> PathBuf {
        self.root.join("clusters")
    }

    pub(super) fn cluster(&self, uid: &str) -> PathBuf {
        self.clusters().join(uid)
    }

    pub(super) fn record(&self, uid: &str) -> PathBuf {
        self.cluster(uid).join("record.json")
    }

    /// Where the standbys, and programs on their behalf, find their password.
    pub(super) fn passfile(&self, uid: &str) -> PathBuf {
        self.cluster(uid).join("passfile")
    }

    /// Who may connect, and how.
    pub(super) fn entry_rules(&self, uid: &str) -> PathBuf {
        self.cluster(uid).join("hba.conf")
    }

    pub(super) fn tls(&self, uid: &str) -> PathBuf {
        self.cluster(uid).join("tls")
    }

    pub(super) fn data(&self, uid: &str, number: Number) -> PathBuf {
        self.cluster(uid).join(number.to_string())
    }

    /// A data directory that is being made.
    pub(super) fn fresh(&self, uid: &str, number: Number) -> PathBuf {
        self.cluster(uid).join(format!("{number}.new"))
    }

    /// A data directory that is being replaced.
    pub(super) fn old(&self, uid: &str, number: Number) -> PathBuf {
        self.cluster(uid).join(format!("{number}.old"))
    }

    /// The settings that somebody asked for.
    pub(super) fn settings(&self, uid: &str, number: Number) -> PathBuf {
        self.cluster(uid).join(format!("{number}.conf"))
    }

    /// The settings of the machinery, which is the file that the server reads; it includes the other.
    pub(super) fn own_settings(&self, uid: &str, number: Number) -> PathBuf {
        self.cluster(uid).join(format!("{number}.own.conf"))
    }

    /// Lies there while an instance must not run.
    pub(super) fn fence(&self, uid: &str, number: Number) -> PathBuf {
        self.cluster(uid).join(format!("{number}.fenced"))
    }

    pub(super) fn log(&self, uid: &str, number: Number) -> PathBuf {
        self.cluster(uid).join(format!("{number}.log"))
    }

    pub(super) fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    pub(super) fn backup(&self, uid: &str) -> PathBuf {
        self.backups().join(uid)
    }

    /// The archived history of a cluster.
    pub(super) fn archive(&self, uid: &str) -> PathBuf {
        self.root.join("wal").join(uid)
    }
}

/// Refuses a uid that would be more than one name in a directory.
pub(super) fn check(uid: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let good = !uid.is_empty() && uid.len() <= 100 && uid.bytes().all(plain);
    if good { Ok(()) } else { Err(Error::Unfit(format!("`{uid}` is not a uid"))) }
}

/// Whether a data directory starts as a standby.
pub(super) fn standby_signal(data: &Path) -> PathBuf {
    data.join("standby.signal")
}
