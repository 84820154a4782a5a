//! Addresses of repositories, good and bad.

use std::net::IpAddr;

use crate::apps::git_url::{checked, is_public, read};

fn listed() -> Vec<String> {
    vec!["git.internal".into(), "127.0.0.1".into()]
}

#[test]
fn addresses_are_read_strictly() {
    let table = [
        ("https://github.com/a/b.git", "https://github.com/a/b.git github.com 443"),
        ("https://GitHub.com:8443/a/b", "https://github.com:8443/a/b github.com 8443"),
        ("ssh://git@github.com/a/b.git", "ssh://git@github.com/a/b.git github.com 22"),
        ("ssh://github.com:2222/a", "ssh://github.com:2222/a github.com 2222"),
        ("git@github.com:a/b.git", "ssh://git@github.com/a/b.git github.com 22"),
        ("deploy-bot@host.example:/srv/a.git", "ssh://deploy-bot@host.example/srv/a.git host.example 22"),
        ("https://[2606:4700::1]/a", "https://[2606:4700::1]/a [2606:4700::1] 443"),
        ("http://git.internal/a", "http://git.internal/a git.internal 80 private"),
        ("https://GIT.internal:3000/a", "https://git.internal:3000/a git.internal 3000 private"),
        ("http://127.0.0.1:3000/a", "http://127.0.0.1:3000/a 127.0.0.1 3000 private"),
        ("http://github.com/a", "no: http is not taken"),
        ("git://github.com/a", "no: git is not taken"),
        ("git://git.internal/a", "no: git is not taken"),
        ("file:///etc/passwd", "no: its host is no name"),
        ("ext::sh -c id", "no: it must not hold ' '"),
        ("ext::sh", "no: it is no address"),
        ("/srv/git/a.git", "no: it is no address"),
        ("C:\\a", "no: it must not hold '\\\\'"),
        ("github.com/a/b", "no: it is no address"),
        ("host:path", "no: it is no address"),
        ("https://user:token@github.com/a", "no: it must not hold credentials"),
        ("https://token@github.com/a", "no: it must not hold credentials"),
        ("ssh://git:pass@github.com/a", "no: it must not hold credentials"),
        ("ssh://-oProxyCommand=id@h/a", "no: the user before @"),
        ("ssh://-oProxyCommand=id/a", "no: its host is no name"),
        ("-oProxyCommand=id@h:a", "no: the user before @"),
        ("git@-h:a", "no: its host is no name"),
        ("@h:a", "no: the user before @"),
        ("https://github.com/a?token=x", "no: it must not hold '?'"),
        ("https://github.com/a#x", "no: it must not hold '#'"),
        ("https://github.com", "no: it names no repository"),
        ("https://github.com/", "no: it names no repository"),
        ("https://github.com/a/../../b", "no: it names no repository"),
        ("https:///a", "no: its host is no name"),
        ("https://git_hub.com/a", "no: its host is no name"),
        ("https://github.com:0/a", "no: its port is none"),
        ("https://github.com:99999/a", "no: its port is none"),
        ("https://github.com:+1/a", "no: its port is none"),
        ("https://[::1/a", "no: a [ has no ]"),
        ("https://[x]/a", "no: there is no IPv6"),
        ("https://evil.com\\@github.com/a", "no: it must not hold '\\\\'"),
        ("https://github.com@evil.com/a", "no: it must not hold credentials"),
        ("https://gıthub.com/a", "no: it must not hold 'ı'"),
        ("https://github.com/a\nb", "no: it must not hold '\\n'"),
        ("", "no: it is no address"),
    ];
    for (given, want) in table {
        let told = match read(given, &listed()) {
            Ok(url) => {
                format!("{} {} {}{}", url.url, url.host, url.port, if url.private { " private" } else { "" })
            }
            Err(why) => format!("no: {why}"),
        };
        let meets = if want.starts_with("no: ") { told.starts_with(want) } else { told == want };
        assert!(meets, "{given}: {told}");
    }
    assert!(read(&format!("https://h/{}", "a".repeat(2048)), &[]).is_err());
}

#[test]
fn only_addresses_that_everybody_reaches_are_public() {
    let public = ["1.1.1.1", "93.184.215.14", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "2a00::1"];
    let hidden = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "192.0.0.8",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:1.1.1.1",
        "::ffff:127.0.0.1",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
    ];
    let wrong = |all: &[&str], want: bool| {
        let odd = |text: &&&str| is_public(text.parse::<IpAddr>().expect("an address")) != want;
        all.iter().filter(odd).map(ToString::to_string).collect::<Vec<String>>()
    };
    assert_eq!(wrong(&public, true), Vec::<String>::new());
    assert_eq!(wrong(&hidden, false), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_name_leads_to_counts() {
    let table = [
        ("https://1.1.1.1/a", Ok("https://1.1.1.1/a")),
        ("https://[2606:4700::1111]/a", Ok("https://[2606:4700::1111]/a")),
        ("https://git.internal/a", Ok("https://git.internal/a")),
        ("https://localhost/a", Err("private network")),
        ("https://127.0.0.2/a", Err("private network")),
        ("https://127.1/a", Err("private network")),
        ("https://2130706433/a", Err("private network")),
        ("https://0x7f000001/a", Err("private network")),
        ("https://0/a", Err("private network")),
        ("git@169.254.169.254:a", Err("private network")),
        ("https://[::1]/a", Err("private network")),
        ("https://[::ffff:10.0.0.1]/a", Err("private network")),
        ("https://nowhere.invalid/a", Err("cannot be found")),
    ];
    for (given, want) in table {
        match (checked(given, &listed()).await, want) {
            (Ok(url), Ok(want)) => assert_eq!(url, want),
            (Err(error), Err(want)) => assert!(error.to_string().contains(want), "{given}: {error}"),
            (told, want) => panic!("{given}: {told:?}, not {want:?}"),
        }
    }
}
