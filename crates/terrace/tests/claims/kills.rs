//! The platform is killed while claims are made, rotated and deleted.

use std::time::Duration;

use serde_json::json;

use crate::claim::{Configuration, apply, gone, login, ready, system};
use crate::platform::{Platform, wait};
use crate::server::{Server, introduce};

/// How often the platform is killed.
const KILLS: usize = 20;
/// The longest that it gets between what is asked of it and its end; all is done in half of that.
const LONGEST_MS: u64 = 800;

/// Numbers that are different in each run, told when something fails.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn claim(platform: &Platform, name: &str) {
    // One that is on its way out would take the new one along.
    wait(&format!("{name} to be gone for good"), crate::claim::PATIENCE, || {
        platform.object("databaseclaim", name)["metadata"]["deletionTimestamp"].is_null().then_some(())
    });
    apply(platform, name, &json!({ "instanceLabel": "athena" }));
}

#[test]
fn a_platform_that_is_killed_at_any_moment_ends_where_it_would_have_ended() {
    let seed = u64::from(std::process::id()) ^ 0x5DEE_CE66;
    let mut dice = Dice(seed | 1);
    let server = Server::new();
    let configuration = Configuration::new(&server.fragment("athena"));
    let mut platform = configuration.platform();
    introduce(&platform, "athena");
    let names = ["one", "two", "three", "four", "five"];
    let mut there = [false; 5];
    for round in 0..KILLS {
        // Each gets its turn at first; later anything may happen to any.
        let turn = if round < names.len() { round } else { usize::try_from(dice.roll(5)).expect("small") };
        let name = names[turn];
        match (there[turn], dice.roll(3)) {
            (false, _) => claim(&platform, name),
            (true, 0) => drop(platform.kubectl(&["delete", "dbc", name, "--wait=false"])),
            (true, _) => {
                let wish = format!("terrace.dev/rotate=wish-{round}");
                drop(platform.kubectl(&["annotate", "--overwrite", "dbc", name, &wish]));
            }
        }
        let now = platform.object("databaseclaim", name);
        there[turn] = !now.is_null() && now["metadata"]["deletionTimestamp"].is_null();
        std::thread::park_timeout(Duration::from_millis(dice.roll(LONGEST_MS)));
        platform.kill();
        platform.rise();
    }
    for (name, there) in names.into_iter().zip(there) {
        if there {
            ready(&platform, name);
            login(&platform, name).ask("create table if not exists t (n int)").expect("the owner may");
        } else {
            gone(&platform, name);
            assert!(platform.object("secret", name).is_null(), "{name}, seed {seed}");
        }
    }
    // On the server there is what is claimed, and what is held for a while, and nothing else.
    let mut want: Vec<String> =
        names.into_iter().zip(there).filter(|(_, there)| *there).map(|(name, _)| name.to_owned()).collect();
    want.extend(system(&platform, "databaseclaims"));
    want.sort();
    let found = server.ask("select datname from pg_database where not datistemplate and datname <> 'postgres' order by datname collate \"C\"");
    assert_eq!(found, want, "seed {seed}");
    let owners = server.ask("select rolname from pg_roles where rolname !~ '^pg_' and not rolcanlogin and rolname !~ '_[ab]$' order by rolname collate \"C\"");
    assert_eq!(owners, want, "seed {seed}");
    // Everything works as if nothing had been.
    for name in names {
        claim(&platform, name);
        ready(&platform, name);
        login(&platform, name).ask("select 1").expect("it answers");
    }
    platform.stop("-TERM");
}
