//! The superuser of real servers, who is not the machinery.

use std::fs;

use api::secret::Sealed;
use ports::postgres::{Postgres as _, Role, Source, Stop};
use sha2::{Digest as _, Sha256};

use crate::machine::{self, Machine, client_as, key, login, settings, superuser, there, up};
use crate::servers::{certified, psql};

pub async fn a_superuser_logs_in_over_tls_with_the_password_that_it_was_given_last(machine: &Machine) {
    let (live, key) = (&machine.live, key("superuser"));
    let (port, _) = certified(machine, &key).await;
    live.grant(&key, 1, &login()).await.expect("it is granted");
    let ask = |database: &str, password: &Sealed<String>| {
        let words = format!("host=127.0.0.1 port={port} user=postgres dbname={database} sslmode=require");
        psql(machine, &words, password.open())
    };
    let (first, second) = (superuser("first"), superuser("second"));
    assert!(ask("postgres", &first.password).1.contains("password authentication failed"));
    live.superuser(&key, 1, Some(&first)).await.expect("it is let in");
    for database in ["postgres", "app"] {
        let (said, complaint) = ask(database, &first.password);
        assert_eq!(said, "t\n", "{complaint}");
    }
    live.superuser(&key, 1, Some(&second)).await.expect("it is let in");
    assert!(ask("postgres", &first.password).1.contains("password authentication failed"));
    assert_eq!(ask("postgres", &second.password).0, "t\n");
    let client = client_as(port, ("postgres", "app"), second.password.open()).await.expect("it gets in");
    client
        .batch_execute("CREATE ROLE other LOGIN; CREATE TABLE t (n int)")
        .await
        .expect("it may do anything");
    let held = "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'postgres'";
    assert!(client.query_one(held, &[]).await.expect("a row").get::<_, bool>(0));

    live.stop(&key, 1, Stop::Fast).await.expect("it stops");
    live.start(&key, 1).await.expect("it starts");
    assert_eq!(ask("postgres", &second.password).0, "t\n", "a restart changes nothing");
    live.superuser(&key, 1, None).await.expect("it is shut out");
    assert!(ask("postgres", &second.password).1.contains("password authentication failed"));
    up(live, &key, 1).await;

    live.superuser(&key, 1, Some(&second)).await.expect("it is let in");
    live.retire(&key, "kept-superuser").await.expect("it goes");
    let new = machine::key("superuser-again");
    let source = Source { backup: "kept-superuser".into(), until: None };
    live.restore(&new, 1, &source).await.expect("it begins");
    there(live, &new, 1).await;
    live.start(&new, 1).await.expect("it starts");
    let port = up(live, &new, 1).await.port;
    assert_eq!(live.look(&new).await.expect("a look").superuser, None);
    let stale = client_as(port, ("postgres", "postgres"), second.password.open()).await;
    assert!(stale.is_err(), "the password of the old cluster does not open the new one");
    live.superuser(&new, 1, Some(&first)).await.expect("it is let in");
    client_as(port, ("postgres", "postgres"), first.password.open()).await.expect("it gets in");
}

/// A role that is no superuser, with rights of its own.
fn role(password: &str) -> Role {
    Role {
        name: "boss".into(),
        password: password.to_owned().into(),
        creates_databases: true,
        creates_roles: true,
        mark: password.into(),
    }
}

pub async fn a_further_role_has_its_rights_and_the_password_that_it_was_given_last(machine: &Machine) {
    let (live, key) = (&machine.live, key("further"));
    let (port, _) = certified(machine, &key).await;
    for password in ["first-word", "second-word"] {
        live.role(&key, 1, &role(password)).await.expect("it is made");
        assert_eq!(live.look(&key).await.expect("a look").roles["boss"], password);
        let client = client_as(port, ("boss", "postgres"), password).await.expect("it gets in");
        let rights = "SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user";
        let row = client.query_one(rights, &[]).await.expect("a row");
        let rights: [bool; 3] = [row.get(0), row.get(1), row.get(2)];
        assert_eq!(rights, [false, true, true]);
        let sql = format!("CREATE DATABASE \"of {password}\"");
        client.batch_execute(&sql).await.expect("it may make databases");
        client.batch_execute(&format!("CREATE ROLE \"{password}\"")).await.expect("it may make roles");
    }
    assert!(client_as(port, ("boss", "postgres"), "first-word").await.is_err(), "only the last one counts");
    for name in ["postgres", "terrace_admin", "terrace_replica", ""] {
        let taken = Role { name: name.into(), mark: "other".into(), ..role("third-word") };
        live.role(&key, 1, &taken).await.expect_err("it is the machinery's");
    }
}

/// In earlier releases the machinery was `postgres` itself, and had no role of its own.
pub async fn a_cluster_of_an_earlier_release_gets_a_role_for_the_machinery(machine: &Machine) {
    let key = machine.one("earlier", &settings("one", false)).await;
    let live = &machine.live;
    let port = up(live, &key, 1).await.port;
    live.superuser(&key, 1, Some(&superuser("first"))).await.expect("it is let in");
    let first = superuser("first").password;
    let root = fs::read_to_string(machine.dir.path().join("superuser")).expect("it is there");
    let own = Sha256::new().chain_update(root.trim()).chain_update(":").chain_update("earlier").finalize();
    let own: String = own.iter().map(|byte| format!("{byte:02x}")).collect();
    let back = format!("ALTER ROLE postgres PASSWORD '{own}'; DROP ROLE terrace_admin");
    let client = client_as(port, ("postgres", "postgres"), first.open()).await.expect("it gets in");
    client.batch_execute(&back).await.expect("it is as it was then");
    let file = machine.dir.path().join("clusters/earlier/record.json");
    let mut record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("a record");
    let fields = record.as_object_mut().expect("fields");
    for field in ["superuser", "administered"] {
        fields.remove(field).expect("it is a field of today");
    }
    fs::write(&file, record.to_string()).expect("a file");

    let next = machine::open(machine.dir.path()).await;
    up(&next, &key, 1).await;
    next.superuser(&key, 1, Some(&superuser("second"))).await.expect("it is let in");
    let second = superuser("second").password;
    client_as(port, ("postgres", "postgres"), second.open()).await.expect("it gets in");
    client_as(port, ("terrace_admin", "postgres"), &own).await.expect("the machinery has its own role");
    up(&next, &key, 1).await;
}
