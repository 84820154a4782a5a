//! The diagram of seed 001: what goes with a claim, and what stays.

use api::claims::{DatabaseClaim, DeletePolicy, DeletionPolicy};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{Next, Room as _};
use serde_json::json;

use super::{STATIC, Stage, with};
use crate::claims::target::{Place, Target};

const MAKERS: [(&str, &str); 3] =
    [("cluster", "Cluster"), ("cloudDatabaseClaim", "CloudDatabaseClaim"), ("rdsInstance", "RDSInstance")];

/// One path through the diagram.
#[derive(Clone, Copy, Debug)]
struct Path {
    maker: (&'static str, &'static str),
    recycles: bool,
    hold: bool,
    others: bool,
    /// What the claim says of its server.
    claimed: Option<DeletionPolicy>,
    /// What the configuration says of it.
    orphan: bool,
    reclaim: bool,
}

impl Path {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        let claims = [None, Some(DeletionPolicy::Delete), Some(DeletionPolicy::LowerOrphan)];
        for maker in MAKERS {
            for claimed in claims {
                for bits in 0..32_u8 {
                    let bit = |nth: u8| bits & (1 << nth) != 0;
                    let (recycles, hold, others) = (bit(0), bit(1), bit(2));
                    all.push(Self {
                        maker,
                        recycles,
                        hold,
                        others,
                        claimed,
                        orphan: bit(3),
                        reclaim: bit(4),
                    });
                }
            }
        }
        all
    }

    fn text(&self) -> String {
        let word = |yes: bool, a: &'static str, b: &'static str| if yes { a } else { b };
        format!(
            "awsProvider: aws\nserverMaker: {}\ndeletionHoldPeriod: {}\ndefaultDeletionPolicy: {}\ndefaultReclaimPolicy: {}\nshared: {{ sslMode: require }}\nalone: {{ sslMode: require }}\n",
            self.maker.0,
            word(self.hold, "60", "0"),
            word(self.orphan, "orphan", "delete"),
            word(self.reclaim, "delete", "retain"),
        )
    }

    /// What is done, by the words of seed and spec.
    fn want(&self, server: &str) -> Vec<String> {
        let on = |words: &str| format!("on {server}.example:5432, {words}");
        let name = if self.others { "one" } else { "two" };
        let mut want = vec![format!("delete Secret default/{name}")];
        want.extend(["a", "b"].map(|side| on(&format!("let `{name}_{side}` log in no more"))));
        let kind = self.maker.1;
        if self.recycles {
            want.push(format!("patch {kind} terrace-system/{server}"));
            return want;
        }
        if self.hold {
            want.push(on(&format!("put database `{name}` aside as `HELD`")));
            want.extend(
                ["_a", "_b", ""].map(|side| on(&format!("rename role `{name}{side}` to `HELD{side}`"))),
            );
            want.push("create DatabaseClaim terrace-system/HELD".to_owned());
            return want;
        }
        want.push(on(&format!("drop database `{name}`")));
        want.extend(["_a", "_b", ""].map(|side| on(&format!("drop role `{name}{side}`"))));
        let orphan = self.claimed.map_or(self.orphan, DeletionPolicy::keeps);
        let kept = orphan && kind == "Cluster";
        if self.reclaim && !self.others && !kept {
            if orphan {
                want.push(format!("patch {kind} terrace-system/{server}"));
            }
            want.push(format!("delete {kind} terrace-system/{server}"));
            want.extend(
                (kind == "RDSInstance").then(|| format!("delete Secret terrace-system/{server}-master")),
            );
        }
        want
    }
}

#[tokio::test]
async fn every_path_of_the_diagram_ends_as_it_says() {
    for maker in MAKERS {
        let paths: Vec<Path> = Path::all().into_iter().filter(|path| path.maker == maker).collect();
        let mut stage = Stage::new(&paths[0].text()).await;
        for (name, label) in [("one", "shared"), ("two", "alone"), ("three", "shared")] {
            stage.served(name, with(json!({ "instanceLabel": label }))).await;
        }
        for path in paths {
            stage.configure(&path.text());
            let name = if path.others { "one" } else { "two" };
            let mut claim = stage.bench.get::<DatabaseClaim>("default", name).await.expect("the claim");
            claim.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::now()));
            claim.spec.delete_policy =
                if path.recycles { DeletePolicy::Recycle } else { DeletePolicy::Delete };
            claim.spec.deletion_policy = path.claimed;
            let world = stage.room.observe(&claim, stage.bench.tools().reader()).await.expect("a world");
            let server = match &world.target {
                Ok(Target { place: Place::Made(made), .. }) => made.name.clone(),
                other => panic!("it is made: {other:?}"),
            };
            let plan = stage.room.plan(&claim, &world).expect("a plan");
            assert_eq!(plan.next, Next::Release, "{path:?}");
            let held = plan.steps.iter().find_map(|step| match step {
                kit::Do::Create(child) => Some(child.name().name.clone()),
                _ => None,
            });
            let held = held.unwrap_or_else(|| "no name".to_owned());
            let got: Vec<String> =
                plan.steps.iter().map(|step| step.to_string().replace(&held, "HELD")).collect();
            assert_eq!(got, path.want(&server), "{path:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_somebody_named_is_never_touched() {
    for (recycle, hold) in [(true, "0"), (false, "0"), (true, "60"), (false, "60")] {
        let text = format!(
            "defaultReclaimPolicy: delete\n{}",
            STATIC.replace("Period: 0", &format!("Period: {hold}"))
        );
        let stage = Stage::new(&text).await;
        let policy = if recycle { "recycle" } else { "delete" };
        let name =
            stage.served("shop", with(json!({ "instanceLabel": "athena", "deletePolicy": policy }))).await;
        let login = stage.login(&name).await;
        stage.gone(&name).await;
        assert!(!stage.gets_in("db.example", &login).await, "{policy} {hold}: nobody gets in any more");
        let databases = stage.fake.databases(&super::server("db.example"));
        match (recycle, hold) {
            (true, _) => assert_eq!(databases, ["shop"]),
            (false, "0") => {
                assert_eq!((databases, stage.fake.roles(&super::server("db.example"))), (vec![], vec![]))
            }
            (false, _) => {
                assert!(databases.len() == 1 && databases[0].starts_with("terrace-held-"), "{databases:?}")
            }
        }
    }
}

#[tokio::test]
async fn a_claim_that_was_never_served_leaves_nothing() {
    let stage = Stage::new("serverMaker: cluster\ndefaultReclaimPolicy: delete\n").await;
    let name = stage.make("shop", json!({})).await;
    stage.bench.pass(&stage.room, &name).await.expect("the server is asked for");
    assert_eq!(stage.names::<api::foreign::cnpg::Cluster>().await.len(), 1);
    stage.bench.delete::<DatabaseClaim>(&name).await;
    stage.bench.pass(&stage.room, &name).await.expect("it goes");
    assert_eq!(stage.names::<api::foreign::cnpg::Cluster>().await, Vec::<String>::new());
    assert!(stage.get(&name).await.is_none());
}

#[tokio::test]
async fn a_claim_whose_server_cannot_be_spoken_to_says_why_it_stays_and_goes_if_its_database_may_stay() {
    let stage = Stage::new(STATIC).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage
        .bench
        .delete::<k8s_openapi::api::core::v1::Secret>(&kit::Name::new(super::SYSTEM, "athena-master"))
        .await;
    stage.bench.delete::<DatabaseClaim>(&name).await;
    assert!(stage.settle(&name).await.is_some());
    let words = stage.words(&name, api::conditions::READY).await;
    assert!(words.contains("athena-master") && words.contains("deletePolicy: recycle"), "{words}");
    stage.patch(&name, with(json!({ "deletePolicy": "recycle" }))).await;
    assert!(stage.settle(&name).await.is_none());
    assert_eq!(stage.fake.databases(&super::server("db.example")), ["shop"]);
}

#[tokio::test]
async fn the_password_of_an_rds_server_goes_even_if_the_pass_was_cut_off_before() {
    let text =
        "awsProvider: aws\nserverMaker: rdsInstance\ndeletionHoldPeriod: 0\ndefaultReclaimPolicy: delete\n";
    let stage = Stage::new(text).await;
    let name = stage.served("shop", json!({})).await;
    let servers = stage.names::<api::infra::RDSInstance>().await;
    stage.bench.delete::<DatabaseClaim>(&name).await;
    stage.bench.delete::<api::infra::RDSInstance>(&kit::Name::new(super::SYSTEM, servers[0].clone())).await;
    assert!(stage.settle(&name).await.is_none());
    assert_eq!(stage.names::<k8s_openapi::api::core::v1::Secret>().await, ["athena-master"]);
}

#[tokio::test]
async fn a_role_that_was_adopted_does_not_hold_its_claim_up() {
    let text = STATIC
        .replace("Period: 0", "Period: 60")
        .replace("athena-master", "athena-master\n  adoptExisting: true");
    let stage = Stage::new(&text).await;
    stage.fake.add_role(&super::server("db.example"), "shop");
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.gone(&name).await;
    assert!(stage.fake.roles(&super::server("db.example")).contains(&"shop".to_owned()));
}
