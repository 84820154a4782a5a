//! Who else has logins in the database of a claim: `DbRoleClaim`s, by the claim that they name as their source.

use std::sync::Arc;

use api::claims::DbRoleClaim;
use api::names::{RoleName, Side};
use kit::{Do, Index, Name};
use ports::admin::{Act, Seen, Server, Title};
use sha2::{Digest, Sha256};

use super::step::Step;

/// Role claims by the claim that they name as their source.
pub(super) const BY_SOURCE: Index<DbRoleClaim> =
    Index { name: "role claim by its source", keys: source_keys };

/// Longest beginning of a holder's name that people can read: with digits and the suffix of a login it stays below what
/// PostgreSQL cuts.
const READABLE_MAX: usize = 50;

/// The claim that a role claim names as its source.
pub(super) fn source(claim: &DbRoleClaim) -> Name {
    let named = &claim.spec.source_database_claim;
    let own = Name::of(claim).namespace;
    Name::new(named.namespace.as_ref().map_or(own, ToString::to_string), named.name.as_str())
}

fn source_keys(claim: &DbRoleClaim) -> Vec<String> {
    vec![source(claim).to_string()]
}

/// The roles of a role claim, in the database of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guest {
    /// Who holds the rights; the names of both logins begin with it.
    pub(super) holder: RoleName,
    /// The mark on all three.
    pub(super) mark: String,
}

impl Guest {
    /// The roles of a role claim where this role owns the database.
    pub(super) fn of(claim: &Name, owner: &RoleName) -> Self {
        let digest = Sha256::digest(format!("{owner}\0{claim}"));
        let digits: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
        let mut readable = format!("{owner}_{}", claim.name);
        readable.truncate(readable.floor_char_boundary(READABLE_MAX));
        // It is too short to break the rule, and begins with a name that keeps it.
        let holder = format!("{readable}_{digits}").parse().unwrap_or_else(|_| owner.clone());
        Self { holder, mark: format!("made by Terrace for DbRoleClaim {claim}") }
    }

    /// By what title its roles are changed.
    pub(super) fn title(&self) -> Title {
        Title::to_own(&self.mark)
    }

    /// Both logins.
    pub(super) fn logins(&self) -> [String; 2] {
        [Side::A, Side::B].map(|side| self.holder.login(side).to_string())
    }

    /// Both logins, and then the holder: the order in which they go.
    pub(super) fn roles(&self) -> [String; 3] {
        let [a, b] = self.logins();
        [a, b, self.holder.to_string()]
    }

    /// Those of its roles that are there and carry its mark.
    fn ours<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = String> + 'a {
        let title = self.title();
        let ours =
            move |role: &String| seen.roles.get(role).is_some_and(|found| title.owns(found.mark.as_deref()));
        self.roles().into_iter().filter(ours)
    }

    /// How many sessions its logins have.
    pub(super) fn sessions(&self, seen: &Seen) -> u32 {
        self.ours(seen).filter_map(|role| seen.roles.get(&role)).map(|role| role.sessions).sum()
    }

    /// Nobody gets in any more. What is open goes on.
    pub(super) fn locked(&self, server: &Arc<Server>, seen: &Seen) -> Vec<Do<Step>> {
        let open = self.ours(seen).filter(|role| seen.roles.get(role).is_some_and(|found| found.login));
        let lock = |role| Act::Lock { role, title: self.title() };
        open.map(|role| Do::Outside(Step::act(server, lock(role)))).collect()
    }

    /// They go. What the holder owns goes to the heir.
    pub(super) fn dropped(&self, server: &Arc<Server>, seen: &Seen, heir: Option<&str>) -> Vec<Do<Step>> {
        let drop = |role| Act::DropRole { role, heir: heir.map(str::to_owned), title: self.title() };
        self.ours(seen).map(|role| Do::Outside(Step::act(server, drop(role)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_named_after_both_fits_and_is_nobody_elses() {
        let stem = |name: &str| name.parse::<RoleName>().expect("a role name");
        let of = |owner: &str, namespace: &str, name: &str| {
            Guest::of(&Name::new(namespace, name), &stem(owner)).holder.to_string()
        };
        assert!(of("shop", "reports", "monthly").starts_with("shop_monthly_"));
        let long = (of(&"s".repeat(61), "a", &"n".repeat(253)), of(&"é".repeat(30), "a", "b"));
        assert!(long.0.len() <= 61 && long.1.len() <= 61, "{long:?}");
        assert_ne!(of("shop", "a", "x"), of("shop", "b", "x"), "another namespace");
        assert_ne!(of("shop", "a", "x_y"), of("shop_x", "a", "y"), "another owner");
    }
}
