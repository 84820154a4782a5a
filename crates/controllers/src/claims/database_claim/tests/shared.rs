//! Claims that share a server, and go one after the other or at the same time.

use api::claims::DatabaseClaim;
use api::foreign::cnpg::Cluster;
use kit::{Name, Next, Room as _};
use serde_json::{Value, json};

use super::{DYNAMIC, SYSTEM, Stage, server, with};

fn label(more: Value) -> Value {
    let mut spec = json!({ "instanceLabel": "shared" });
    super::merge(&mut spec, more);
    with(spec)
}

async fn two(text: &str) -> (Stage, Name, Name, String) {
    let stage = Stage::new(text).await;
    let one = stage.served("one", label(json!({}))).await;
    let two = stage.served("two", label(json!({}))).await;
    let host = stage.only_host().await;
    (stage, one, two, host)
}

async fn servers(stage: &Stage) -> usize {
    stage.names::<Cluster>().await.len()
}

#[tokio::test]
async fn two_claims_go_in_either_order_and_the_last_takes_the_server_along() {
    for turned in [false, true] {
        let (stage, one, two, host) = two(DYNAMIC).await;
        let (first, last) = if turned { (two, one) } else { (one, two) };
        stage.gone(&first).await;
        assert_eq!(servers(&stage).await, 1, "{last} is still on it");
        assert_eq!(stage.fake.databases(&server(&host)), [last.name.as_str()]);
        assert!(stage.gets_in(&host, &stage.login(&last).await).await);
        stage.gone(&last).await;
        assert_eq!(servers(&stage).await, 0);
    }
}

#[tokio::test]
async fn two_claims_that_go_at_the_same_time_leave_no_server_whoever_is_faster() {
    for turned in [false, true] {
        let (stage, one, two, _) = two(DYNAMIC).await;
        for name in [&one, &two] {
            stage.bench.delete::<DatabaseClaim>(name).await;
        }
        let order = if turned { [&two, &one] } else { [&one, &two] };
        for _ in 0..3 {
            for name in order {
                stage.settle(name).await;
            }
        }
        assert_eq!((stage.get(&one).await, stage.get(&two).await), (None, None));
        assert_eq!(servers(&stage).await, 0, "turned {turned}");
    }
}

#[tokio::test]
async fn a_claim_that_decided_before_the_other_began_to_go_leaves_the_server_to_it() {
    for turned in [false, true] {
        let (stage, one, two, _) = two(DYNAMIC).await;
        let (early, late) = if turned { (two, one) } else { (one, two) };
        stage.bench.delete::<DatabaseClaim>(&early).await;
        // It looks while the other is still served, and is slow.
        let claim = stage.get(&early).await.expect("the claim");
        let world = stage.room.observe(&claim, stage.bench.tools().reader()).await.expect("a world");
        let plan = stage.room.plan(&claim, &world).expect("a plan");
        assert_eq!(plan.next, Next::Release);
        stage.bench.delete::<DatabaseClaim>(&late).await;
        stage.pass(&late).await.expect("a pass");
        // What the slow one decided is done: it goes, and leaves the server.
        stage.patch(&early, json!({ "metadata": { "finalizers": null } })).await;
        assert_eq!(stage.get(&early).await, None);
        stage.settle(&late).await;
        assert_eq!(stage.get(&late).await, None);
        assert_eq!(servers(&stage).await, 0, "turned {turned}");
    }
}

#[tokio::test]
async fn a_claim_that_goes_at_once_does_not_take_what_another_is_about_to_put_aside() {
    let held = DYNAMIC.replace("Period: 0", "Period: 60");
    let stage = Stage::new(&held).await;
    let kept = stage.served("two", label(json!({}))).await;
    let host = stage.only_host().await;
    // It never was served: its names are taken.
    let never = stage.make("one", label(json!({ "userName": "two" }))).await;
    stage.settle(&never).await;
    for name in [&never, &kept] {
        stage.bench.delete::<DatabaseClaim>(name).await;
    }
    stage.settle(&never).await;
    assert_eq!(stage.get(&never).await, None);
    assert_eq!(servers(&stage).await, 1, "the database of the other is to be kept");
    stage.settle(&kept).await;
    assert_eq!(stage.fake.databases(&server(&host)).len(), 1);
    assert_eq!(stage.names::<DatabaseClaim>().await.len(), 1);
}

#[tokio::test]
async fn a_record_that_is_due_does_not_take_what_another_is_about_to_put_aside() {
    let stage = Stage::new(&DYNAMIC.replace("Period: 0", "Period: 60")).await;
    let first = stage.served("one", label(json!({}))).await;
    let space = json!({ "metadata": { "namespace": "web" } });
    let mut more = label(json!({}));
    super::merge(&mut more, space);
    let second = stage.served("two", more).await;
    stage.gone(&first).await;
    let record = Name::new(SYSTEM, stage.names::<DatabaseClaim>().await.remove(0));
    stage.bench.delete::<DatabaseClaim>(&second).await;
    stage.bench.delete::<DatabaseClaim>(&record).await;
    stage.settle(&record).await;
    assert_eq!(servers(&stage).await, 1, "web/two is to be kept");
    stage.settle(&second).await;
    let record = Name::new(SYSTEM, stage.names::<DatabaseClaim>().await.remove(0));
    stage.gone(&record).await;
    assert_eq!(servers(&stage).await, 0, "the last record takes the server along");
}

#[tokio::test]
async fn a_recycled_database_keeps_its_server_whoever_goes_last() {
    let (stage, one, two, host) = two(DYNAMIC).await;
    stage.patch(&one, with(json!({ "deletePolicy": "recycle" }))).await;
    let login = stage.login(&one).await;
    stage.fake.create_table(&server(&host), &login, ("public", "orders")).expect("a table");
    stage.gone(&one).await;
    stage.gone(&two).await;
    assert_eq!(servers(&stage).await, 1, "the data of default/one are on it");
    // It comes back to its data, and then goes for good.
    let one = stage.served("one", label(json!({}))).await;
    let login = stage.login(&one).await;
    stage.fake.use_table(&server(&host), &login, ("public", "orders"), "SELECT").expect("its table");
    stage.gone(&one).await;
    assert_eq!(servers(&stage).await, 0);
}

#[tokio::test]
async fn a_recycled_database_keeps_a_server_that_others_leave_at_the_same_time() {
    let (stage, one, two, _) = two(DYNAMIC).await;
    stage.patch(&two, with(json!({ "deletePolicy": "recycle" }))).await;
    for name in [&one, &two] {
        stage.bench.delete::<DatabaseClaim>(name).await;
    }
    stage.settle(&one).await;
    stage.settle(&two).await;
    assert_eq!((stage.get(&one).await, stage.get(&two).await), (None, None));
    assert_eq!(servers(&stage).await, 1);
}

#[tokio::test]
async fn a_claim_of_another_namespace_is_another_claim() {
    let (stage, one, _, host) = two(DYNAMIC).await;
    let mut more = label(json!({}));
    super::merge(&mut more, json!({ "metadata": { "namespace": "other" } }));
    let stranger = stage.make("one", more).await;
    stage.settle(&stranger).await;
    let words = stage.words(&stranger, api::conditions::READY).await;
    assert!(words.contains("was not made by this claim"), "{words}");
    stage.bench.delete::<DatabaseClaim>(&stranger).await;
    assert!(stage.settle(&stranger).await.is_none());
    assert!(stage.gets_in(&host, &stage.login(&one).await).await, "nothing was done to the other");
}
