//! What apt says, read; and what is told of builds.

use std::path::{Path, PathBuf};

use ports::postgres::builds::{Found, Origin, Usable};
use serde_json::json;

use super::apt::{Offer, complaint, read_offers, read_simulation};
use super::install::{Version, choose, unoffered};
use super::{closure, elf, list};

const MADISON: &str = "\
postgresql-15 | 15.20-0+deb12u1 | http://mirror.example/debian-security bookworm-security/main amd64 Packages
postgresql-15 | 15.18-0+deb12u1 | http://mirror.example/debian bookworm/main amd64 Packages
postgresql-17 | 17.11-1.pgdg12+1 | http://mirror.example/pg trixie/main amd64 Packages
postgresql-17 | 17.10-0+deb13u1 | http://mirror.example/debian bookworm-backports/main amd64 Packages
postgresql-17 | 17.10-0+deb13u1 | http://mirror.example/debian trixie/main Sources
";

fn version(text: &str) -> Version {
    text.parse().expect("is a version")
}

#[test]
fn the_machines_own_release_is_the_first_choice_and_the_newest_of_others_the_second() {
    let offers = read_offers(MADISON);
    let chosen = |wanted: &str, own: Option<&str>| {
        let chosen = choose(&offers, &version(wanted), own);
        chosen.map(|offer| format!("{} {}", offer.exact(), offer.release))
    };
    let table = [
        ("15", Some("bookworm"), Some("postgresql-15=15.20-0+deb12u1 bookworm")),
        ("15.18", Some("bookworm"), Some("postgresql-15=15.18-0+deb12u1 bookworm")),
        ("17", Some("bookworm"), Some("postgresql-17=17.10-0+deb13u1 bookworm")),
        ("17", Some("sid"), Some("postgresql-17=17.11-1.pgdg12+1 trixie")),
        ("17", None, Some("postgresql-17=17.11-1.pgdg12+1 trixie")),
        ("17.9", Some("bookworm"), None),
        ("1", Some("bookworm"), None),
    ];
    for (wanted, own, want) in table {
        assert_eq!(chosen(wanted, own).as_deref(), want, "{wanted} on {own:?}");
    }
}

#[test]
fn a_version_that_is_not_offered_is_answered_with_those_that_are() {
    let told = unoffered(&read_offers(MADISON), &version("16"));
    assert!(
        told.starts_with("apt offers no PostgreSQL 16; apt offers 15.20 (bookworm), 15.18 (bookworm), "),
        "{told}"
    );
    assert!(told.contains("--postgres-bin"), "{told}");
    let told = unoffered(&[], &version("16.2"));
    assert!(told.starts_with("apt offers no PostgreSQL 16.2; apt knows none at all"), "{told}");
}

#[test]
fn versions_are_numbers_with_at_most_one_point() {
    assert_eq!(version("17"), Version { major: 17, exact: None });
    assert_eq!(version("17.11"), Version { major: 17, exact: Some("17.11".into()) });
    for wrong in ["", "x", "17.", ".1", "17.1.2", "17-1", "../17"] {
        assert!(wrong.parse::<Version>().is_err(), "{wrong}");
    }
}

#[test]
fn debians_own_counting_is_no_part_of_a_version() {
    let upstream = |version: &str| {
        let offer = Offer { package: "p".into(), version: version.into(), release: "r".into() };
        offer.upstream().to_owned()
    };
    assert_eq!(upstream("17.11-0+deb13u1"), "17.11");
    assert_eq!(upstream("1:17.11-0+deb13u1"), "17.11");
    assert_eq!(upstream("18~beta1-1"), "18~beta1");
}

#[test]
fn a_server_needs_its_libraries_and_not_what_only_its_installation_needs() {
    let simulation = "\
NOTE: This is only a simulation!
Inst libc6 (2.41-12 Debian:13/stable [amd64]) []
Inst perl-base (5.40 Debian:13/stable [amd64])
Inst libjson-perl (4.1 Debian:13/stable [all])
Inst libssl3t64 (3.5 Debian:13/stable [amd64])
Inst zlib1g (1:1.3 Debian:13/stable [amd64])
Inst libunused1 (1 Debian:13/stable [amd64])
Inst postgresql-common (278 Debian:13/stable [all])
Inst postgresql-client-17 (17.11 Debian:13/stable [amd64])
Inst postgresql-17 (17.11 Debian:13/stable [amd64])
Conf libc6 (2.41-12 Debian:13/stable [amd64])
";
    let everything = read_simulation(simulation, "trixie");
    assert_eq!(everything.len(), 9);
    let descriptions = "\
Package: postgresql-17
Depends: locales | locales-all, postgresql-client-17, postgresql-common (>= 252~), libssl3 (>= 3) | libother
Description: one
 with lines below

Package: postgresql-client-17
Pre-Depends: zlib1g:any (>= 1)
Depends: perl-base

Package: postgresql-common
Depends: libjson-perl, libunused1

Package: libssl3t64
Provides: libssl3 (= 3.5)
Depends: libc6 (>= 2.34)

Package: libc6

Package: zlib1g
Depends: libc6, libjson-perl
";
    let roots = ["postgresql-17".to_owned(), "postgresql-client-17".to_owned()];
    let needed = closure::needed(&everything, descriptions, &roots);
    let names: Vec<&str> = needed.iter().map(|offer| offer.package.as_str()).collect();
    assert_eq!(names, ["libc6", "libssl3t64", "zlib1g", "postgresql-client-17", "postgresql-17"]);
    assert_eq!(needed[2].exact(), "zlib1g=1:1.3");
}

#[test]
fn a_library_that_lies_outside_the_tree_is_a_stray() {
    let tree = tempfile::tempdir().expect("a directory can be made");
    let top = tree.path().canonicalize().expect("it is there");
    let inside = top.join("libown.so.1");
    std::fs::write(&inside, "").expect("it can be written");
    let said = format!(
        "\tlinux-vdso.so.1 (0x00007fff)\n\tlibown.so.1 => {} (0x00007f)\n\tlibhost.so => /bin/sh (0x0)\n\t\
         liblost.so.2 => not found\n\t/lib64/ld-linux.so.2 (0x0)\n",
        inside.display()
    );
    assert_eq!(elf::strays(&said, &top), ["libhost.so (/bin/sh)", "liblost.so.2 (not found)"]);
}

#[test]
fn what_apt_complains_about_is_told_without_the_rest() {
    assert_eq!(complaint(b"W: old\nE: first\nE: second\n"), "first; second");
    assert_eq!(complaint(b"one\ntwo\n"), "two");
    assert_eq!(complaint(b""), "it said nothing");
}

/// A build, as it was found.
fn found(bin: &str, origin: Origin, usable: Result<(u32, &str), &str>) -> Found {
    let usable = match usable {
        Ok((major, version)) => Ok(Usable { major, version: version.into(), tls: Some(major > 16) }),
        Err(why) => Err(why.to_owned()),
    };
    Found { bin: PathBuf::from(bin), origin, usable }
}

#[test]
fn the_list_says_which_build_services_run_on_and_what_is_wrong_with_others() {
    let found = [
        found("/c/17", Origin::Installed, Ok((17, "17.11"))),
        found("/m/17", Origin::Machine, Ok((17, "17.2"))),
        found("/m/15", Origin::Machine, Ok((15, "15.18"))),
        found("/x", Origin::Named, Err("it lacks initdb")),
    ];
    let rows = list::rows(&found);
    let want = "\
VERSION   USED                      TLS   FROM      WHERE
17.11     by default                yes   terrace   /c/17
17.2      no: another comes first   yes   machine   /m/17
15.18     on request                no    machine   /m/15
-         no                        -     option    /x: it lacks initdb
";
    assert_eq!(list::shown(&rows), want);
    let described = list::described(&rows);
    assert_eq!(
        described[0],
        json!({
            "version": "17.11", "major": 17, "tls": true, "bin": "/c/17", "origin": "terrace", "used": true,
            "default": true, "problem": null,
        })
    );
    assert_eq!(described[1]["used"], false);
    assert_eq!((&described[2]["used"], &described[2]["default"]), (&json!(true), &json!(false)));
    assert_eq!(
        (&described[3]["version"], &described[3]["problem"]),
        (&json!(null), &json!("it lacks initdb"))
    );
    assert_eq!(Path::new(described[3]["bin"].as_str().expect("is text")), Path::new("/x"));
}
