//! What can be changed on a server.

use std::collections::{BTreeMap, BTreeSet};

use api::claims::RoleType;
use api::secret::Sealed;

/// By what title something is changed: the mark that was put on it when it was made, as its comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The mark. Whoever made something is known by it, so it names one claim and nobody else.
    pub mark: String,
    /// Whether what carries no mark at all may be used too. It is not marked, and so never dropped.
    pub adopt: bool,
}

impl Title {
    /// A title to what was made under this mark, and to nothing else.
    pub fn to_own(mark: &str) -> Self {
        Self { mark: mark.to_owned(), adopt: false }
    }

    /// Whether something with this mark may be used.
    pub fn covers(&self, found: Option<&str>) -> bool {
        match found {
            Some(found) => found == self.mark,
            None => self.adopt,
        }
    }

    /// Whether something with this mark may be dropped.
    pub fn owns(&self, found: Option<&str>) -> bool {
        found == Some(&self.mark)
    }
}

/// What a role may do beyond its rights in a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Powers {
    /// Whether it is a superuser.
    pub superuser: bool,
    /// Whether it may replicate.
    pub replication: bool,
}

/// One change. Each may be repeated; what is already so is left as it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// A role that nobody logs in as, to own things or to hold rights.
    EnsureOwner {
        /// Its name.
        role: String,
        /// What else it may do.
        powers: Powers,
        /// By what title.
        title: Title,
    },
    /// A member of an owner, which is that owner from its login on. One that is new cannot log in until it has a password.
    EnsureLogin {
        /// Its name.
        role: String,
        /// Whom it stands for.
        owner: String,
        /// What else it may do.
        powers: Powers,
        /// By what title.
        title: Title,
    },
    /// Lets a login in with this password, which the server sees only as a verifier.
    SetPassword {
        /// The login.
        role: String,
        /// Its password.
        password: Sealed<String>,
        /// By what title.
        title: Title,
    },
    /// Lets a login in no more. Its sessions go on.
    Lock {
        /// The login.
        role: String,
        /// By what title.
        title: Title,
    },
    /// A database with this owner, which the public may not enter.
    EnsureDatabase {
        /// Its name.
        database: String,
        /// Its owner, which is there.
        owner: String,
        /// By what title.
        title: Title,
    },
    /// A schema with this owner. One that is there keeps its own.
    EnsureSchema {
        /// In which database.
        database: String,
        /// Its name.
        schema: String,
        /// Its owner.
        owner: String,
    },
    /// Extensions, installed if they are not.
    EnsureExtensions {
        /// In which database.
        database: String,
        /// Their names.
        extensions: BTreeSet<String>,
    },
    /// Rights per schema, and no others: on what is there, and on what these creators make later.
    Grant {
        /// In which database.
        database: String,
        /// Who gets them.
        role: String,
        /// Whose later tables and sequences count.
        creators: BTreeSet<String>,
        /// What may be done in which schema.
        rights: BTreeMap<String, RoleType>,
        /// By what title to the role.
        title: Title,
    },
    /// Gives everything that some roles own in a database to one.
    Reassign {
        /// In which database.
        database: String,
        /// Who owns it now; each must be covered by the title.
        from: BTreeSet<String>,
        /// Who shall.
        to: String,
        /// By what title.
        title: Title,
    },
    /// Ends every session of a database but those of the administrator.
    Close {
        /// Which one.
        database: String,
        /// By what title.
        title: Title,
    },
    /// Ends every session, lets nobody in any more, and puts the database aside under another name. One that is gone is
    /// no error.
    Hold {
        /// Its name.
        database: String,
        /// Its name from then on.
        held: String,
        /// By what title.
        title: Title,
    },
    /// Takes back [`Act::Hold`].
    Release {
        /// Its name while it was held.
        held: String,
        /// Its name.
        database: String,
        /// By what title.
        title: Title,
    },
    /// Puts a role aside under another name: nobody logs in as it any more. One that is gone is no error.
    RenameRole {
        /// Its name.
        from: String,
        /// Its name from then on.
        to: String,
        /// By what title.
        title: Title,
    },
    /// Removes a database with all that is in it, and its sessions. One that is gone is no error.
    DropDatabase {
        /// Which one.
        database: String,
        /// By what title.
        title: Title,
    },
    /// Removes a role. What it owns goes to its heir; no data goes with it. One that is gone is no error.
    DropRole {
        /// Which one; it has no session any more.
        role: String,
        /// Who gets what it owns; the administrator if nobody is named.
        heir: Option<String>,
        /// By what title.
        title: Title,
    },
}
