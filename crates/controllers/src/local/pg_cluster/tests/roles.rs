//! Further roles, which the spec asks to look after.

use api::secret::Sealed;
use ports::postgres::Seen;
use serde_json::{Value, json};

use super::super::plan::{Given, Step, World, plan};
use super::{KEEP, cluster, empty, settled, up};
use kit::Do;

fn asks() -> Value {
    json!({ "managed": { "roles": [
        { "name": "root", "login": true, "createdb": true, "createrole": true, "passwordSecret": { "name": "mine" } },
    ] } })
}

fn given(username: &str, password: &str, world: World) -> World {
    let login =
        Given { username: username.into(), password: Sealed::new(password.into()), version: "7".into() };
    World { given_roles: [("root".to_owned(), login)].into(), ..world }
}

/// The mark that a role was given, what the plan does about it, and how its status tells it.
fn told(world: &World) -> (Option<String>, String) {
    let plan = plan(KEEP, &cluster(asks()), world).expect("a plan");
    let mark = plan.steps.iter().find_map(|step| {
        let Do::Outside(Step::Role { role, .. }) = step else { return None };
        assert!(role.creates_databases && role.creates_roles);
        Some(role.mark.clone())
    });
    let roles = plan.status.managed_roles_status.expect("it is told");
    let version = roles.password_status.get("root").and_then(|state| state.resource_version.clone());
    (
        mark,
        format!(
            "{} {}",
            roles.by_status.keys().cloned().collect::<Vec<_>>().join(" "),
            version.unwrap_or_default()
        ),
    )
}

#[test]
fn a_role_is_given_its_rights_and_its_password_once() {
    let up = || settled(&cluster(asks()), vec![(1, up(1, false, 10))], empty());
    let pending = "pending-reconciliation ";
    let (first, words) = told(&given("root", "one", up()));
    let first = first.expect("it is made");
    assert_eq!(words, pending, "it is so when the step is done");
    let made = |mark: &str| {
        let world = up();
        let roles = [("root".to_owned(), mark.to_owned())].into();
        World { seen: Seen { roles, ..world.seen.clone() }, ..world }
    };
    assert_eq!(told(&given("root", "one", made(&first))), (None, "reconciled 7".into()));
    let (second, words) = told(&given("root", "two", made(&first)));
    assert_ne!(second.expect("it gets the new password"), first);
    assert_eq!(words, pending);
    assert_eq!(told(&up()), (None, pending.into()), "its Secret is not there");
    assert_eq!(told(&given("other", "one", up())), (None, pending.into()), "it is another's");
}
