use super::*;

fn connection(user: &str, password: &str, host: &str, database: &str) -> Connection {
    Connection {
        host: host.into(),
        read_only_host: None,
        port: 5432,
        database: database.into(),
        username: user.into(),
        password: Sealed::new(password.into()),
        ssl_mode: SslMode::Require,
    }
}

#[test]
fn every_character_survives_dsn_and_uri() {
    let table = [
        (
            "plain",
            connection("app_a", "secret", "db.example.com", "shop"),
            "host='db.example.com' port='5432' user='app_a' password='secret' dbname='shop' sslmode='require'",
            "postgres://app_a:secret@db.example.com:5432/shop?sslmode=require",
        ),
        (
            "quotes, backslashes and spaces in the password",
            connection("app_a", r"a'b\c d", "db", "shop"),
            r"host='db' port='5432' user='app_a' password='a\'b\\c d' dbname='shop' sslmode='require'",
            "postgres://app_a:a%27b%5Cc%20d@db:5432/shop?sslmode=require",
        ),
        (
            "what ends a part of a URI",
            connection("u:@/", "p@:/?#[]%", "db", "a/b?c"),
            "host='db' port='5432' user='u:@/' password='p@:/?#[]%' dbname='a/b?c' sslmode='require'",
            "postgres://u%3A%40%2F:p%40%3A%2F%3F%23%5B%5D%25@db:5432/a%2Fb%3Fc?sslmode=require",
        ),
        (
            "letters of several bytes",
            connection("jürgen", "ß", "db", "größe"),
            "host='db' port='5432' user='jürgen' password='ß' dbname='größe' sslmode='require'",
            "postgres://j%C3%BCrgen:%C3%9F@db:5432/gr%C3%B6%C3%9Fe?sslmode=require",
        ),
        (
            "an IPv6 address",
            connection("app", "secret", "fd00::1", "shop"),
            "host='fd00::1' port='5432' user='app' password='secret' dbname='shop' sslmode='require'",
            "postgres://app:secret@[fd00::1]:5432/shop?sslmode=require",
        ),
        (
            "a socket directory as host",
            connection("app", "", "/run/postgresql", "shop"),
            "host='/run/postgresql' port='5432' user='app' password='' dbname='shop' sslmode='require'",
            "postgres://app:@%2Frun%2Fpostgresql:5432/shop?sslmode=require",
        ),
    ];
    for (row, connection, dsn, uri) in table {
        assert_eq!(connection.dsn().open(), dsn, "{row}");
        assert_eq!(connection.uri().open(), uri, "{row}");
    }
}

#[test]
fn a_claims_secret_has_all_its_keys() {
    let mut connection = connection("app_a", "secret", "db", "shop");
    connection.read_only_host = Some("db-ro".into());
    let data = connection.secret_data("shop.dsn");
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "database",
            "dsn.txt",
            "hostname",
            "password",
            "port",
            "ro_uri_dsn.txt",
            "shop.dsn",
            "sslmode",
            "uri_dsn.txt",
            "uri_shop.dsn",
            "username",
        ]
    );
    assert_eq!(data["shop.dsn"], data[DSN]);
    assert_eq!(data["uri_shop.dsn"], data[URI_DSN]);
    assert_eq!(data[READ_ONLY_URI_DSN].open(), "postgres://app_a:secret@db-ro:5432/shop?sslmode=require");
    assert!(!format!("{connection:?}{data:?}").contains("secret@"));
    let default = connection.secret_data(DSN);
    assert_eq!(default.len(), 9, "the default name adds no key");
}
