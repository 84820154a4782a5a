//! What every implementation of the port keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use api::claims::RoleType;
use ports::admin::{Act, Admin, Asked, Error, Fake, Login, Powers, Proof, Seen, Server, Session, Title};

use crate::ground::{DEADLINE, Ground, LOOK, client, execute};

const MARK: &str = "terrace:claim:0c0ffee0";

/// What programs do on a server.
pub trait Programs {
    type Session: Send;
    fn create(&self, login: &Login, table: (&str, &str)) -> impl Future<Output = bool> + Send;
    fn read(&self, login: &Login, table: (&str, &str)) -> impl Future<Output = bool> + Send;
    fn write(&self, login: &Login, table: (&str, &str)) -> impl Future<Output = bool> + Send;
    fn connect(&self, login: &Login) -> impl Future<Output = Option<Self::Session>> + Send;
}

pub async fn the_fake_keeps_the_contract(ground: &Ground) {
    let fake = Fake::default();
    let server = ground.server();
    fake.add_database(&server, "theirs");
    fake.add_role(&server, "somebody");
    keeps_the_contract(&fake, &InMemory { fake: fake.clone(), server: server.clone() }, &server).await;
}

pub async fn a_real_server_keeps_the_contract(ground: &Ground) {
    let chief = crate::ground::chief("postgres");
    execute(ground, &chief, "CREATE DATABASE theirs").await.expect("it may");
    execute(ground, &chief, "CREATE ROLE somebody").await.expect("it may");
    keeps_the_contract(&ground.live, &Real(ground), &ground.server()).await;
}

struct InMemory {
    fake: Fake,
    server: Server,
}

impl Programs for InMemory {
    type Session = Session;

    async fn create(&self, login: &Login, table: (&str, &str)) -> bool {
        self.fake.create_table(&self.server, login, table).is_ok()
    }

    async fn read(&self, login: &Login, table: (&str, &str)) -> bool {
        self.fake.use_table(&self.server, login, table, "SELECT").is_ok()
    }

    async fn write(&self, login: &Login, table: (&str, &str)) -> bool {
        self.fake.use_table(&self.server, login, table, "INSERT").is_ok()
    }

    async fn connect(&self, login: &Login) -> Option<Session> {
        self.fake.connect(&self.server, login).ok()
    }
}

struct Real<'a>(&'a Ground);

impl Programs for Real<'_> {
    type Session = tokio_postgres::Client;

    async fn create(&self, login: &Login, (schema, table): (&str, &str)) -> bool {
        execute(self.0, login, &format!("CREATE TABLE {schema}.{table} (n serial)")).await.is_ok()
    }

    async fn read(&self, login: &Login, (schema, table): (&str, &str)) -> bool {
        execute(self.0, login, &format!("SELECT n FROM {schema}.{table}")).await.is_ok()
    }

    async fn write(&self, login: &Login, (schema, table): (&str, &str)) -> bool {
        execute(self.0, login, &format!("INSERT INTO {schema}.{table} DEFAULT VALUES")).await.is_ok()
    }

    async fn connect(&self, login: &Login) -> Option<tokio_postgres::Client> {
        client(self.0.port, login).await.ok()
    }
}

pub fn title() -> Title {
    Title::to_own(MARK)
}

pub fn owner(role: &str) -> Act {
    Act::EnsureOwner { role: role.into(), powers: Powers::default(), title: title() }
}

pub fn login(role: &str, owner: &str) -> Act {
    Act::EnsureLogin { role: role.into(), owner: owner.into(), powers: Powers::default(), title: title() }
}

pub fn password(role: &str, password: &str) -> Act {
    Act::SetPassword { role: role.into(), password: password.to_owned().into(), title: title() }
}

pub fn database(name: &str, owner: &str) -> Act {
    Act::EnsureDatabase { database: name.into(), owner: owner.into(), title: title() }
}

pub fn drop_role(role: &str, heir: Option<&str>) -> Act {
    Act::DropRole { role: role.into(), heir: heir.map(str::to_owned), title: title() }
}

pub fn as_user(role: &str, password: &str, database: &str) -> Login {
    Login { database: database.into(), role: role.into(), password: password.to_owned().into() }
}

/// Everything twice: each act may be repeated. A session that has just been let go may need a moment to be gone.
pub async fn done(admin: &impl Admin, server: &Server, acts: &[Act]) {
    for act in acts.iter().flat_map(|act| [act, act]) {
        let act_on = async {
            let mut ticks = tokio::time::interval(LOOK);
            loop {
                match admin.act(server, act).await {
                    Ok(()) => return,
                    Err(Error::Busy { .. }) => drop(ticks.tick().await),
                    Err(error) => panic!("{act:?}: {error}"),
                }
            }
        };
        assert!(tokio::time::timeout(DEADLINE, act_on).await.is_ok(), "busy for ever: {act:?}");
    }
}

/// Waits until a role has so many sessions.
async fn sessions(admin: &impl Admin, server: &Server, role: &str, want: u32) {
    let look_on = async {
        let mut ticks = tokio::time::interval(LOOK);
        while looked(admin, server, "shop", &[role]).await.roles[role].sessions != want {
            ticks.tick().await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, look_on).await.is_ok(), "never {want} sessions of {role}");
}

pub async fn looked(admin: &impl Admin, server: &Server, database: &str, roles: &[&str]) -> Seen {
    let roles = roles.iter().map(|role| (*role).to_owned()).collect();
    let asked = Asked { database: Some(database.to_owned()), content: true, roles };
    admin.look(server, &asked).await.expect("a look")
}

async fn keeps_the_contract(admin: &impl Admin, programs: &impl Programs, server: &Server) {
    let nothing = looked(admin, server, "shop", &["shop", "shop_a"]).await;
    assert!(nothing.database.is_none() && nothing.roles.is_empty(), "{nothing:?}");
    assert!(nothing.version >= 120_000 && nothing.superuser && !nothing.recovery, "{nothing:?}");
    makes_and_rotates(admin, programs, server).await;
    grants(admin, programs, server).await;
    leaves_others_alone(admin, server).await;
    repairs(admin, server).await;
    holds_and_drops(admin, programs, server).await;
}

async fn makes_and_rotates(admin: &impl Admin, programs: &impl Programs, server: &Server) {
    let early = admin.act(server, &database("shop", "shop")).await;
    assert!(matches!(early, Err(Error::Missing { what: "role", .. })), "{early:?}");
    done(admin, server, &[owner("shop"), database("shop", "shop")]).await;
    done(admin, server, &[login("shop_a", "shop"), login("shop_b", "shop")]).await;
    let seen = looked(admin, server, "shop", &["shop", "shop_a"]).await;
    let base = seen.database.clone().expect("it is there");
    assert_eq!((base.owner.as_str(), base.mark.as_deref()), ("shop", Some(MARK)));
    assert!(!base.public && base.open && base.sessions == 0, "{base:?}");
    let (lord, user) = (&seen.roles["shop"], &seen.roles["shop_a"]);
    assert!(!lord.login && !user.login && lord.mark.as_deref() == Some(MARK), "{seen:?}");
    let member = user.member_of["shop"];
    assert!(member.inherit && member.set && !member.admin, "{member:?}");
    assert_eq!(user.settings["role"], "shop");

    let (a, b) = (as_user("shop_a", "first", "shop"), as_user("shop_b", "it's \\ second", "shop"));
    let early = admin.prove(server, &a).await;
    assert!(matches!(early, Err(Error::Denied { .. })), "{early:?}");
    done(admin, server, &[password("shop_a", "first"), password("shop_b", "it's \\ second")]).await;
    for user in [&a, &b] {
        let proof = admin.prove(server, user).await.expect("it gets in");
        assert_eq!(proof, Proof { session_user: user.role.clone(), current_user: "shop".into() });
    }
    assert!(programs.create(&a, ("public", "orders")).await, "a login makes tables");
    assert!(programs.write(&b, ("public", "orders")).await, "the other writes to them");
    assert!(programs.create(&b, ("public", "items")).await && programs.read(&a, ("public", "items")).await);
    let content = looked(admin, server, "shop", &[]).await.database.expect("there").content.expect("asked");
    assert_eq!(content.strays, [], "all of it is the owner's");

    let session = programs.connect(&a).await.expect("it gets in");
    sessions(admin, server, "shop_a", 1).await;
    done(admin, server, &[password("shop_a", "third")]).await;
    let stale = admin.prove(server, &a).await;
    assert!(matches!(&stale, Err(Error::Denied { user, .. }) if user == "shop_a"), "{stale:?}");
    admin.prove(server, &as_user("shop_a", "third", "shop")).await.expect("the new one is good");
    let lock = Act::Lock { role: "shop_a".into(), title: title() };
    done(admin, server, &[lock]).await;
    let locked = admin.prove(server, &as_user("shop_a", "third", "shop")).await;
    assert!(matches!(locked, Err(Error::Denied { .. })), "{locked:?}");
    // Who is in stays in.
    sessions(admin, server, "shop_a", 1).await;
    let busy = admin.act(server, &drop_role("shop_a", Some("shop"))).await;
    assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");
    drop(session);
    done(admin, server, &[password("shop_a", "first")]).await;
}

fn rights<const N: usize>(rights: [(&str, RoleType); N]) -> Act {
    Act::Grant {
        database: "shop".into(),
        role: "reports".into(),
        creators: BTreeSet::from(["shop".to_owned()]),
        rights: BTreeMap::from(rights.map(|(schema, right)| (schema.to_owned(), right))),
        title: title(),
    }
}

async fn grants(admin: &impl Admin, programs: &impl Programs, server: &Server) {
    let creators = BTreeSet::from(["shop".to_owned()]);
    let schema = Act::EnsureSchema { database: "shop".into(), schema: "sales".into(), owner: "shop".into() };
    done(admin, server, &[schema, owner("reports"), login("reports_a", "reports")]).await;
    done(admin, server, &[password("reports_a", "reads")]).await;
    let (a, user) = (as_user("shop_a", "first", "shop"), as_user("reports_a", "reads", "shop"));
    assert!(programs.create(&a, ("sales", "old")).await);
    assert!(programs.connect(&user).await.is_none(), "the public does not get in");
    let missing = admin.act(server, &rights([("nowhere", RoleType::ReadOnly)])).await;
    assert!(matches!(missing, Err(Error::Missing { what: "schema", .. })), "{missing:?}");

    // What may be done: read, write, make a table.
    let table = [
        (RoleType::ReadOnly, [true, false, false]),
        (RoleType::Regular, [true, true, false]),
        (RoleType::Admin, [true, true, true]),
        (RoleType::ReadOnly, [true, false, false]),
    ];
    for (row, (right, want)) in table.into_iter().enumerate() {
        done(admin, server, &[rights([("sales", right)])]).await;
        let later = format!("later{row}");
        assert!(programs.create(&a, ("sales", &later)).await);
        for name in ["old", &later] {
            let may = [
                programs.read(&user, ("sales", name)).await,
                programs.write(&user, ("sales", name)).await,
                programs.create(&user, ("sales", &format!("{name}_by_{row}"))).await,
            ];
            assert_eq!(may, want, "{right:?} on {name}");
        }
        assert!(!programs.read(&user, ("public", "orders")).await, "no other schema");
        let content = looked(admin, server, "shop", &["reports"]).await.database.expect("there").content;
        let content = content.expect("asked");
        let wish = BTreeMap::from([("sales".to_owned(), right)]);
        // What the role made itself as an administrator is its own.
        assert!(content.grants_are("reports", &wish, &creators), "{right:?}: {content:?}");
        let other = BTreeMap::from([("public".to_owned(), right)]);
        assert!(!content.grants_are("reports", &other, &creators), "{right:?}: {content:?}");
    }
    done(admin, server, &[rights([("public", RoleType::Regular)])]).await;
    assert!(
        programs.write(&user, ("public", "orders")).await && !programs.read(&user, ("sales", "old")).await
    );
    done(admin, server, &[rights([])]).await;
    assert!(programs.connect(&user).await.is_none(), "nothing is left");
    done(admin, server, &[drop_role("reports_a", Some("reports")), drop_role("reports", Some("shop"))]).await;
    let content = looked(admin, server, "shop", &["reports"]).await.database.expect("there").content;
    assert_eq!(content.expect("asked").strays, [], "what it made went to its heir");
}

async fn leaves_others_alone(admin: &impl Admin, server: &Server) {
    let (base, role) = (|name: &str| name.to_owned(), |name: &str| name.to_owned());
    let held = || "held".to_owned();
    let stranger = Title::to_own("terrace:claim:of-somebody-else");
    let acts = [
        owner("somebody"),
        login("somebody", "shop"),
        password("somebody", "mine"),
        owner(&server.user),
        password(&server.user, "mine"),
        Act::Lock { role: role("somebody"), title: title() },
        Act::RenameRole { from: role("somebody"), to: held(), title: title() },
        Act::RenameRole { from: role("shop"), to: held(), title: stranger.clone() },
        drop_role("somebody", None),
        drop_role(&server.user, None),
        Act::DropRole { role: role("shop_b"), heir: None, title: stranger.clone() },
        database("theirs", "shop"),
        database("postgres", "shop"),
        database("template1", "shop"),
        Act::EnsureDatabase { database: base("shop"), owner: role("shop"), title: stranger.clone() },
        Act::Close { database: base("theirs"), title: title() },
        Act::Hold { database: base("theirs"), held: held(), title: title() },
        Act::Hold { database: base("shop"), held: held(), title: stranger.clone() },
        Act::DropDatabase { database: base("theirs"), title: title() },
        Act::DropDatabase { database: base("postgres"), title: title() },
        Act::DropDatabase { database: base("shop"), title: stranger.clone() },
        Act::DropDatabase { database: base("theirs"), title: Title { adopt: true, ..title() } },
    ];
    for act in acts {
        let refused = admin.act(server, &act).await;
        assert!(matches!(refused, Err(Error::NotOurs { .. })), "{act:?}: {refused:?}");
    }
    let adopt = Title { adopt: true, ..title() };
    let taken = Act::EnsureDatabase { database: "theirs".into(), owner: "shop".into(), title: adopt };
    done(admin, server, &[taken]).await;
    let found = looked(admin, server, "theirs", &[]).await.database.expect("it is there");
    assert_eq!((found.owner.as_str(), found.mark, found.public), ("shop", None, true), "adopted, not marked");
}

async fn repairs(admin: &impl Admin, server: &Server) {
    let powerful = Powers { superuser: true, replication: true };
    let more =
        Act::EnsureLogin { role: "shop_b".into(), owner: "shop".into(), powers: powerful, title: title() };
    for (act, want) in [(more, true), (login("shop_b", "shop"), false)] {
        done(admin, server, &[act]).await;
        let found = looked(admin, server, "shop", &["shop_b"]).await.roles["shop_b"].clone();
        assert_eq!((found.superuser, found.replication), (want, want));
    }
    let extensions =
        Act::EnsureExtensions { database: "shop".into(), extensions: BTreeSet::from(["plpgsql".to_owned()]) };
    done(admin, server, &[extensions]).await;
    let content = looked(admin, server, "shop", &[]).await.database.expect("there").content.expect("asked");
    assert!(content.extensions.contains_key("plpgsql"), "{content:?}");
}

async fn holds_and_drops(admin: &impl Admin, programs: &impl Programs, server: &Server) {
    let a = as_user("shop_a", "first", "shop");
    let (base, aside) = ("shop".to_owned(), "shop-held-1".to_owned());
    let hold = Act::Hold { database: base.clone(), held: aside.clone(), title: title() };
    let release = Act::Release { held: aside.clone(), database: base.clone(), title: title() };
    let _session = programs.connect(&a).await.expect("it gets in");
    done(admin, server, std::slice::from_ref(&hold)).await;
    assert!(looked(admin, server, "shop", &[]).await.database.is_none(), "the name is free");
    let kept = looked(admin, server, &aside, &["shop_a"]).await;
    let found = kept.database.expect("it is kept");
    assert_eq!((found.open, found.mark.as_deref(), found.sessions), (false, Some(MARK), 0));
    assert!(
        programs.connect(&Login { database: aside.clone(), ..a.clone() }).await.is_none(),
        "nobody gets in"
    );
    done(admin, server, &[release]).await;
    assert!(programs.read(&a, ("public", "orders")).await, "all is as it was");
    done(admin, server, &[Act::Close { database: base, title: title() }]).await;

    done(admin, server, &[hold]).await;
    let rename = Act::RenameRole { from: "shop_b".into(), to: "shop_b-held".into(), title: title() };
    done(admin, server, &[rename]).await;
    let renamed = looked(admin, server, &aside, &["shop_b", "shop_b-held"]).await.roles;
    assert_eq!(renamed.keys().collect::<Vec<_>>(), ["shop_b-held"]);
    done(admin, server, &[Act::DropDatabase { database: aside.clone(), title: title() }]).await;
    let roles = ["shop_a", "shop_b-held", "shop"];
    let drops = roles.map(|role| drop_role(role, None));
    done(admin, server, &drops).await;
    let gone = looked(admin, server, &aside, &roles).await;
    assert!(gone.database.is_none() && gone.roles.is_empty(), "{gone:?}");
    let theirs = looked(admin, server, "theirs", &["somebody"]).await;
    assert!(theirs.database.is_some_and(|found| found.owner == server.user) && theirs.roles.len() == 1);
}
