//! Ways back: to an earlier moment, and from a deletion.

use crate::platform::{Platform, wait};
use crate::service::{PATIENCE, connect, create, ready};

#[track_caller]
fn ok(platform: &Platform, arguments: &[&str]) -> String {
    let all = [&["service"], arguments, &["-n", &platform.namespace]].concat();
    let (code, said) = platform.terrace(&all);
    assert_eq!(code, 0, "terrace {all:?}: {said}\n{}", platform.last_words());
    said
}

#[test]
fn a_service_goes_back_to_an_earlier_moment_beside_the_one_that_is() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "micro");
    ready(&platform, "db");
    let sql = connect(&platform, "db");
    sql.ask("create table notes (text text); insert into notes values ('before the backup')")
        .expect("the owner may");
    ok(&platform, &["backup", "db"]);
    sql.ask("insert into notes values ('after the backup')").expect("the owner may");
    let moment =
        sql.one("select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
    // A mistake, some time after that moment.
    sql.ask("select pg_sleep(0.05)").expect("a pause of the server");
    sql.ask("delete from notes").expect("the owner may");
    sql.ask("insert into notes values ('the mistake')").expect("the owner may");
    ok(&platform, &["restore", "db", "--to", "rescued", "--at", &moment]);
    ready(&platform, "rescued");
    let rescued = connect(&platform, "rescued");
    let found = rescued.ask("select text from notes order by text").expect("the table is there");
    assert_eq!(found, ["after the backup", "before the backup"]);
    rescued.ask("insert into notes values ('it goes on')").expect("it takes writes");
    assert_eq!(sql.ask("select text from notes").expect("the first one is untouched"), ["the mistake"]);
    ok(&platform, &["restore", "db", "--to", "latest"]);
    ready(&platform, "latest");
    assert_eq!(connect(&platform, "latest").ask("select text from notes").expect("rows"), ["the mistake"]);
    platform.stop("-TERM");
}

#[test]
fn a_deleted_service_comes_back_with_its_rows() {
    let mut platform = Platform::start(&[]);
    create(&platform, "db", "micro");
    ready(&platform, "db");
    connect(&platform, "db")
        .ask("create table kept (n int); insert into kept values (42)")
        .expect("the owner may");
    ok(&platform, &["delete", "db", "--yes"]);
    wait("it to be gone", PATIENCE, || {
        let gone = |kind: &str| platform.object(kind, "db").is_null();
        (gone("managedservice") && gone("cluster.postgresql.cnpg.io")).then_some(())
    });
    wait("its server to be gone", PATIENCE, || {
        (!platform.left_running().iter().any(|line| line.contains("postgres"))).then_some(())
    });
    // The platform may be started anew in between.
    platform.stop("-TERM");
    platform.rise();
    ok(&platform, &["restore", "db"]);
    ready(&platform, "db");
    assert_eq!(connect(&platform, "db").one("select n from kept"), "42");
    platform.stop("-TERM");
}
