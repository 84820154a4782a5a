//! Real builds with the machine's own tools, and the suite that the fake holds too.

mod apps;
mod bench;
mod bounds;
mod private;
mod sources;

use super::contract::{self, Case};
use super::{Fake, Source};
use bench::{Bench, order};

#[tokio::test]
async fn the_fake_holds_the_contract() {
    let fake = Fake::default();
    let blob = |name: &str| order(name, Source::Blob { url: "https://example.com/x".into() });
    let (good, bad, slow) = (blob("good"), blob("bad"), blob("slow"));
    let (one, two) = (good.id.clone(), bad.id.clone());
    let push = || {
        fake.succeed(&one);
        fake.fail(&two, "no semicolon");
    };
    contract::holds(&fake, Case { good, bad, slow, push: &push }).await;
}

#[tokio::test]
async fn real_builds_hold_the_contract() {
    let bench = Bench::open().await;
    let good = bench.upload("good", &[("index.html", "hello")]);
    let bad = bench.upload("bad", &[("README", "nothing to build")]);
    let slow = bench.upload("slow", &[bench::SLOW_PACKAGE]);
    contract::holds(&bench.live, Case { good, bad, slow, push: &|| {} }).await;
    bench.is_clean();
}
