//! Who asks, and whom the control plane takes them for.

use kube::Client;
use kube::client::Body;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Begins sessions and works in them.
    Session,
    /// Looks, and changes nothing.
    ReadOnly,
    /// Works in every namespace.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Session, Self::ReadOnly, Self::Admin];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::ReadOnly => "read-only",
            Self::Admin => "admin",
        }
    }

    /// The role of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// The group that RBAC knows its tokens by.
    pub fn group(self) -> String {
        format!("terrace:agents:{}", self.name())
    }
}

/// The holder of a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The token's name, given by whoever made it.
    pub name: String,
    /// What tells it from others of the same name: the first digits of its digest.
    pub fingerprint: String,
    /// What it is for.
    pub role: Role,
    /// Whether its rights end at the namespaces that it was made for.
    pub scoped: bool,
}

impl Caller {
    /// The user that the control plane sees.
    pub fn user(&self) -> String {
        format!("terrace:agent:{}", self.fingerprint)
    }

    /// Its groups. A scoped token has the rights that were given to its user in those namespaces, and no group's.
    pub fn groups(&self) -> Vec<String> {
        let mut groups = vec!["terrace:agents".to_owned()];
        if !self.scoped {
            groups.push(self.role.group());
        }
        groups
    }

    /// A client that has this caller's rights, made of one that may speak for others.
    pub fn client(&self, own: &Client) -> Client {
        let (own, user, groups) = (own.clone(), self.user(), self.groups());
        let service = tower::service_fn(move |mut request: http::Request<Body>| {
            let headers = request.headers_mut();
            let mut say = |name: &'static str, value: &str| {
                if let Ok(value) = http::HeaderValue::from_str(value) {
                    headers.append(name, value);
                }
            };
            say("impersonate-user", &user);
            groups.iter().for_each(|group| say("impersonate-group", group));
            let own = own.clone();
            async move { own.send(request).await }
        });
        Client::new(service, "default")
    }
}
