//! `AWSProvider`s: every way to log in, and what is said when it fails.

use std::sync::Arc;
use std::time::Duration;

use api::infra::{AWSProvider, SQSQueue};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kit::Name;
use kube::Api;
use ports::aws::Settings;
use serde_json::{Value, json};

use crate::ground::{Ground, REGION};
use crate::home::{Home, provider, secret};
use crate::journal::Journal;
use crate::proxy::{Fate, Heard, Proxy};

const ROLE: &str = "arn:aws:iam::123456789012:role/terrace";
/// What must be seen nowhere.
const CANARY: &str = "canary/KEY+that=nobody/may+see0123456789";

fn named(name: &str) -> Name {
    Name::new("default", name)
}

fn actions(heard: &[Heard], action: &str) -> Vec<Heard> {
    heard.iter().filter(|heard| heard.action == action).cloned().collect()
}

/// Waits until a provider says something that begins so.
async fn until_says(home: &Home, name: &str, want: &str) -> String {
    home.until(&format!("{name} says {want}"), async || home.provider_says(name).await.starts_with(want))
        .await;
    home.provider_says(name).await
}

/// A user of the account that may do this, with its key.
fn user(ground: &Ground, name: &str, action: &str) -> (String, String) {
    ground.ask("iam", "create_user", json!({ "UserName": name }));
    let policy = json!({
        "Version": "2012-10-17", "Statement": [{ "Effect": "Allow", "Action": action, "Resource": "*" }],
    });
    let asked = json!({ "UserName": name, "PolicyName": "p", "PolicyDocument": policy.to_string() });
    ground.ask("iam", "put_user_policy", asked);
    let key = ground.ask("iam", "create_access_key", json!({ "UserName": name }))["AccessKey"].clone();
    let text = |field: &str| key[field].as_str().expect("a key").to_owned();
    (text("AccessKeyId"), text("SecretAccessKey"))
}

pub async fn keys_log_in_both_ways_and_bad_ones_are_told_in_the_words_of_aws(ground: &Arc<Ground>) {
    ground.reset();
    let (id, key) = user(ground, "terrace", "*");
    let (poor, poor_key) = user(ground, "poor", "s3:*");
    let trust = json!({
        "Version": "2012-10-17",
        "Statement": [{ "Effect": "Allow", "Principal": { "AWS": "*" }, "Action": "sts:AssumeRole" }],
    });
    let asked = json!({ "RoleName": "terrace", "AssumeRolePolicyDocument": trust.to_string() });
    ground.ask("iam", "create_role", asked);
    let session = ground.ask("sts", "assume_role", json!({ "RoleArn": ROLE, "RoleSessionName": "test" }))["Credentials"].clone();
    ground.check_signatures(true);
    let home = Home::open(Settings::default()).await;
    let of_aws = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "session", "namespace": "default" },
        "stringData": {
            "AWS_ACCESS_KEY_ID": session["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": session["SecretAccessKey"],
            "AWS_SESSION_TOKEN": session["SessionToken"],
        },
    });
    for held in [
        secret("good", &id, &key),
        secret("wrong", &id, "not-the-key"),
        secret("unknown", "AKIAUNKNOWN", &key),
        secret("poor", &poor, &poor_key),
        of_aws,
    ] {
        home.bench.create(held).await;
    }
    for name in ["good", "wrong", "unknown", "poor", "session"] {
        let spec = json!({ "credentialsSecret": { "name": name } });
        home.bench.create(provider(name, &ground.endpoint, spec)).await;
    }
    let parts = json!({
        "accessKeyIDRef": { "name": "good", "key": "accessKeyID" },
        "secretAccessKeyRef": { "name": "good", "key": "secretAccessKey" },
    });
    home.bench.create(provider("parts", &ground.endpoint, parts)).await;
    for name in ["good", "parts", "session", "poor"] {
        until_says(&home, name, "True/Available").await;
    }
    let status = home.bench.get::<AWSProvider>("default", "parts").await.and_then(|it| it.status);
    let status = status.expect("a status");
    assert_eq!(status.account_id.as_deref(), Some("123456789012"));
    assert_eq!(status.caller_identity.as_deref(), Some("arn:aws:iam::123456789012:user/terrace"));
    assert!(status.ready && status.last_authentication_time.is_some());
    until_says(
        &home,
        "wrong",
        "False/SignatureDoesNotMatch: AWS: GetCallerIdentity was refused with SignatureDoesNotMatch",
    )
    .await;
    until_says(&home, "unknown", "False/InvalidClientTokenId").await;
    for name in ["good", "poor", "wrong"] {
        home.queue(name, name, json!({})).await;
    }
    home.until_met("good").await;
    home.until("the poor may not", async || {
        home.queue_says("poor").await.1.starts_with("False/AccessDenied")
    })
    .await;
    let said = home.queue_says("wrong").await.1;
    assert!(said.starts_with("False/DependencyNotReady: AWSProvider default/wrong is not ready"), "{said}");
    assert!(said.contains("SignatureDoesNotMatch"), "{said}");
    // The right key in the same Secret is all it takes.
    home.bench.patch::<Secret>(&named("wrong"), json!({ "stringData": { "secretAccessKey": key } })).await;
    until_says(&home, "wrong", "True/Available").await;
    home.until_met("wrong").await;
    ground.check_signatures(false);
}

pub async fn a_rotated_key_is_used_by_the_next_call(ground: &Arc<Ground>) {
    ground.reset();
    let (home, proxy) = (Home::open(Settings::default()).await, Proxy::new(&ground.endpoint).await);
    home.provider("turn", &proxy.endpoint).await;
    home.queue("turn", "turn", json!({})).await;
    home.until_met("turn").await;
    assert!(proxy.take().iter().all(|heard| heard.key == "AKIATURN"), "one key until now");
    let turned = json!({ "stringData": { "accessKeyID": "AKIANEW", "secretAccessKey": "another" } });
    home.bench.patch::<Secret>(&named("turn"), turned).await;
    // The Secret wakes its provider: nobody waits five minutes.
    home.until("STS is asked with the new key", async || {
        actions(&proxy.heard(), "GetCallerIdentity").iter().any(|heard| heard.key == "AKIANEW")
    })
    .await;
    proxy.take();
    home.bench.patch::<SQSQueue>(&named("turn"), json!({ "spec": { "delaySeconds": 3 } })).await;
    home.until("the queue is set", async || !actions(&proxy.heard(), "SetQueueAttributes").is_empty()).await;
    assert!(proxy.heard().iter().all(|heard| heard.key == "AKIANEW"), "nobody uses the old key any more");
}

/// The same answer, but what it hands out ends in a moment: sooner than the SDK likes.
fn ends_soon(body: &str) -> String {
    let soon = (jiff::Timestamp::now() + Duration::from_secs(5)).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let (before, rest) = body.split_once("<Expiration>").expect("credentials");
    let (_, after) = rest.split_once("</Expiration>").expect("credentials");
    format!("{before}<Expiration>{soon}</Expiration>{after}")
}

pub async fn a_pod_logs_in_with_its_token_as_it_is_then(ground: &Arc<Ground>) {
    ground.reset();
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("token");
    let settings = Settings { token_file: file.clone(), ..Settings::default() };
    let (home, proxy) = (Home::open(settings).await, Proxy::new(&ground.endpoint).await);
    proxy.rule(|heard| (heard.action == "AssumeRoleWithWebIdentity").then_some(Fate::Altered(ends_soon)));
    home.bench.create(provider("pod", &proxy.endpoint, json!({ "roleARN": ROLE }))).await;
    let said = until_says(&home, "pod", "False/WebIdentityTokenMissing").await;
    assert!(said.contains("cannot be read: No such file"), "{said}");
    assert!(
        said.contains(&*file.display().to_string()) && said.contains("eks.amazonaws.com/role-arn"),
        "{said}"
    );
    assert_eq!(proxy.take().len(), 0, "there was nothing to ask with");
    std::fs::write(&file, "first-token\n").expect("a token");
    until_says(&home, "pod", "True/Available").await;
    let status = home.bench.get::<AWSProvider>("default", "pod").await.and_then(|it| it.status);
    let arn = status.and_then(|status| status.caller_identity).expect("somebody");
    assert_eq!(arn, "arn:aws:sts::123456789012:assumed-role/terrace/terrace");
    let asked = actions(&proxy.take(), "AssumeRoleWithWebIdentity");
    assert!(!asked.is_empty());
    for heard in asked {
        assert!(
            heard.text.contains("WebIdentityToken=first-token&")
                || heard.text.ends_with("WebIdentityToken=first-token"),
            "{}",
            heard.text
        );
        assert!(
            heard.text.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fterrace"),
            "{}",
            heard.text
        );
        assert_eq!(heard.key, "", "it needs no key");
    }
    // The token is replaced while we run, and what it was good for ends soon.
    std::fs::write(&file, "second-token").expect("a token");
    home.queue("pod", "pod", json!({})).await;
    home.until_met("pod").await;
    let asked = actions(&proxy.take(), "AssumeRoleWithWebIdentity");
    assert!(asked.iter().all(|heard| heard.text.contains("WebIdentityToken=second-token")), "{asked:?}");
    assert!(!asked.is_empty(), "what ends in a moment is asked for again before it does");
}

pub async fn a_role_is_taken_on_with_its_external_id_and_again_before_it_ends(ground: &Arc<Ground>) {
    ground.reset();
    let (home, proxy) = (Home::open(Settings::default()).await, Proxy::new(&ground.endpoint).await);
    home.bench.create(secret("role", "AKIABASE", "not-a-secret")).await;
    let spec = json!({ "credentialsSecret": { "name": "role" }, "assumeRoleARN": ROLE, "externalID": "the-other-side" });
    home.bench.create(provider("role", &proxy.endpoint, spec)).await;
    until_says(&home, "role", "True/Available").await;
    home.queue("role", "role", json!({})).await;
    home.until_met("role").await;
    let heard = proxy.take();
    let asked = actions(&heard, "AssumeRole");
    assert_eq!(asked.len(), 1, "what lasts an hour is asked for once");
    assert_eq!(asked[0].key, "AKIABASE");
    assert!(asked[0].text.contains("ExternalId=the-other-side"), "{}", asked[0].text);
    assert!(
        asked[0].text.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fterrace"),
        "{}",
        asked[0].text
    );
    let others: Vec<_> = heard.iter().filter(|heard| heard.action != "AssumeRole").collect();
    let taken = others[0].key.clone();
    assert!(
        others.iter().all(|heard| heard.key == taken && heard.key != "AKIABASE"),
        "all else is asked as the role"
    );
    assert!(others.iter().all(|heard| heard.text.to_lowercase().contains("x-amz-security-token")));
    // AWS takes them no longer, an hour before their end: they are asked for again.
    let old = taken.clone();
    proxy.rule(move |heard| {
        (heard.key == old).then(|| Fate::Answer {
            status: 400,
            headers: "Content-Type: application/x-amz-json-1.0\r\n".into(),
            body: json!({ "__type": "ExpiredTokenException", "message": "revoked" }).to_string(),
        })
    });
    home.bench.patch::<SQSQueue>(&named("role"), json!({ "spec": { "delaySeconds": 3 } })).await;
    home.until("the queue is set", async || !actions(&proxy.heard(), "SetQueueAttributes").is_empty()).await;
    home.until_met("role").await;
    let heard = proxy.take();
    assert_eq!(actions(&heard, "AssumeRole").len(), 1, "once more");
    assert_ne!(actions(&heard, "SetQueueAttributes")[0].key, taken);
    // From now on they end in a moment.
    proxy.rule(|heard| (heard.action == "AssumeRole").then_some(Fate::Altered(ends_soon)));
    let patch = json!({ "spec": { "externalID": "another" } });
    home.bench.patch::<AWSProvider>(&named("role"), patch).await;
    home.until("it is asked for again and again", async || {
        let asked = actions(&proxy.heard(), "AssumeRole");
        asked.len() >= 2 && asked.iter().all(|heard| heard.text.contains("ExternalId=another"))
    })
    .await;
}

pub async fn what_a_provider_lacks_is_said_and_enough_when_it_comes(ground: &Arc<Ground>) {
    ground.reset();
    let home = Home::open(Settings::default()).await;
    let mut shared = secret("vault", "AKIAVAULT", "not-a-secret");
    shared["metadata"]["namespace"] = "vault".into();
    home.bench.create(shared).await;
    let of = |name: &str, namespace: &str| json!({ "credentialsSecret": { "name": name, "namespace": namespace } });
    home.bench.create(provider("missing", &ground.endpoint, of("missing", "default"))).await;
    home.bench.create(provider("foreign", &ground.endpoint, of("vault", "vault"))).await;
    home.bench.create(provider("nothing", &ground.endpoint, json!({}))).await;
    let mut elsewhere = provider("elsewhere", &ground.endpoint, of("missing", "default"));
    elsewhere["metadata"]["namespace"] = "shop".into();
    elsewhere["spec"]["credentialsSecret"] = json!({ "name": "own" });
    let mut own = secret("own", "AKIAOWN", "not-a-secret");
    own["metadata"]["namespace"] = "shop".into();
    home.bench.create(own).await;
    home.bench.create(elsewhere).await;
    let said = until_says(&home, "missing", "False/CredentialsMissing").await;
    assert!(said.contains("Secret default/missing does not exist"), "{said}");
    let said = until_says(&home, "foreign", "False/ConsentMissing").await;
    assert!(said.contains("terrace.dev/allow-from: default"), "{said}");
    let said = until_says(&home, "nothing", "False/CredentialsMissing").await;
    assert!(said.contains("set roleARN, credentialsSecret"), "{said}");
    for name in ["missing", "foreign", "elsewhere"] {
        let at = if name == "elsewhere" {
            json!({ "name": name, "namespace": "shop" })
        } else {
            json!({ "name": name })
        };
        home.queue(name, name, json!({ "providerRef": at })).await;
    }
    home.queue("nowhere", "nowhere", json!({})).await;
    let says = async |name: &str, want: &str| {
        home.until(&format!("queue {name} says {want}"), async || {
            let (ready, synced) = home.queue_says(name).await;
            ready.starts_with("False") && synced.contains(want)
        })
        .await;
    };
    says(
        "missing",
        "DependencyNotReady: AWSProvider default/missing is not ready: Secret default/missing does not exist",
    )
    .await;
    says("foreign", "DependencyNotReady: AWSProvider default/foreign is not ready").await;
    says("elsewhere", "ConsentMissing: AWSProvider shop/elsewhere is in another namespace").await;
    says("nowhere", "DependencyNotReady: AWSProvider default/nowhere does not exist").await;
    // Each gets what it lacks, and nobody has to do anything else.
    home.bench.create(secret("missing", "AKIAMISSING", "not-a-secret")).await;
    let allow = |who: &str| json!({ "metadata": { "annotations": { "terrace.dev/allow-from": who } } });
    home.bench.patch::<Secret>(&Name::new("vault", "vault"), allow("other,default")).await;
    home.bench.patch::<AWSProvider>(&Name::new("shop", "elsewhere"), allow("default")).await;
    home.bench.create(secret("nowhere", "AKIANOWHERE", "not-a-secret")).await;
    home.bench
        .create(provider("nowhere", &ground.endpoint, json!({ "credentialsSecret": { "name": "nowhere" } })))
        .await;
    for name in ["missing", "foreign", "elsewhere", "nowhere"] {
        home.until_met(name).await;
    }
    // What is taken away again is missed.
    home.bench.delete::<Secret>(&named("missing")).await;
    until_says(&home, "missing", "False/CredentialsMissing").await;
    home.until("its queue stays as far as anybody knows", async || {
        let (ready, synced) = home.queue_says("missing").await;
        ready.starts_with("True") && synced.starts_with("False/DependencyNotReady")
    })
    .await;
}

pub async fn a_provider_stays_until_nobody_needs_it(ground: &Arc<Ground>) {
    ground.reset();
    let home = Home::open(Settings::default()).await;
    home.provider("last", &ground.endpoint).await;
    home.queue("last", "last", json!({})).await;
    home.until_met("last").await;
    home.bench.delete::<AWSProvider>(&named("last")).await;
    let said = until_says(&home, "last", "True/Deleting").await;
    assert!(said.contains("SQSQueue default/last still need it"), "{said}");
    // Even without the Secret, which `kubectl delete -f` deletes first.
    home.bench.delete::<Secret>(&named("last")).await;
    home.bench.delete::<SQSQueue>(&named("last")).await;
    home.until("both are gone", async || {
        home.bench.get::<SQSQueue>("default", "last").await.is_none()
            && home.bench.get::<AWSProvider>("default", "last").await.is_none()
    })
    .await;
    let left = ground.try_ask("sqs", "get_queue_url", json!({ "QueueName": "last" }));
    assert!(left.is_err(), "the queue is deleted in AWS: {left:?}");
}

pub async fn a_provider_that_cannot_log_in_says_so_and_its_queues_too(ground: &Arc<Ground>) {
    ground.reset();
    let (home, proxy) = (Home::open(Settings::default()).await, Proxy::new(&ground.endpoint).await);
    home.provider("shaky", &proxy.endpoint).await;
    home.queue("shaky", "shaky", json!({})).await;
    home.until_met("shaky").await;
    proxy.rule(|heard| {
        (heard.action == "GetCallerIdentity").then(|| Fate::Answer {
            status: 403,
            headers: "Content-Type: text/xml\r\n".into(),
            body: "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredToken</Code><Message>The security token included in the request is expired</Message></Error></ErrorResponse>".into(),
        })
    });
    // Something about it changes, so that it is asked.
    home.bench
        .patch::<AWSProvider>(&named("shaky"), json!({ "spec": { "defaultTags": { "a": "b" } } }))
        .await;
    let said = until_says(&home, "shaky", "False/ExpiredToken").await;
    assert!(said.contains("The security token included in the request is expired"), "{said}");
    home.until("its queue says so", async || {
        let (ready, synced) = home.queue_says("shaky").await;
        ready.starts_with("True")
            && synced.starts_with("False/DependencyNotReady")
            && synced.contains("ExpiredToken")
    })
    .await;
    proxy.relent();
    until_says(&home, "shaky", "True/Available").await;
    home.until_met("shaky").await;
    let url = json!({ "QueueUrl": format!("{}/123456789012/shaky", ground.endpoint) });
    assert_eq!(ground.ask("sqs", "list_queue_tags", url)["Tags"]["a"], "b");
}

pub async fn nobody_sees_a_key(ground: &Arc<Ground>) {
    ground.reset();
    let journal = Journal::begin();
    let (home, proxy) = (Home::open(Settings::default()).await, Proxy::new(&ground.endpoint).await);
    let held = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "quiet", "namespace": "default" },
        "stringData": { "accessKeyID": "AKIAQUIET", "secretAccessKey": CANARY, "sessionToken": format!("token-{CANARY}") },
    });
    home.bench.create(held).await;
    let spec = json!({ "credentialsSecret": { "name": "quiet" }, "assumeRoleARN": ROLE });
    home.bench.create(provider("quiet", &proxy.endpoint, spec)).await;
    until_says(&home, "quiet", "True/Available").await;
    home.queue("quiet", "quiet", json!({})).await;
    home.until_met("quiet").await;
    assert!(
        proxy.heard().iter().any(|heard| heard.text.contains("token-canary")),
        "the token is sent, to AWS only"
    );
    proxy.rule(|heard| heard.action.contains("Queue").then_some(Fate::Half));
    home.bench.patch::<SQSQueue>(&named("quiet"), json!({ "spec": { "delaySeconds": 3 } })).await;
    home.until("it fails", async || home.queue_says("quiet").await.1.starts_with("False")).await;
    home.until("it is logged", async || journal.lines().iter().any(|line| line.contains("pass failed")))
        .await;
    let mut all = journal.lines();
    let client = home.bench.client();
    let events: Api<Event> = Api::all(client.clone());
    let list = events.list(&Default::default()).await.expect("events");
    assert!(!list.items.is_empty());
    all.extend(list.items.iter().map(|event| serde_json::to_string(event).expect("JSON")));
    let providers: Api<AWSProvider> = Api::all(client.clone());
    let queues: Api<SQSQueue> = Api::all(client.clone());
    all.extend(
        providers
            .list(&Default::default())
            .await
            .expect("a list")
            .items
            .iter()
            .map(|it| json!(it).to_string()),
    );
    all.extend(
        queues.list(&Default::default()).await.expect("a list").items.iter().map(|it| json!(it).to_string()),
    );
    let shown = all.iter().find(|line| line.contains(CANARY) || line.contains(&CANARY.replace('/', "%2F")));
    assert_eq!(shown, None);
}

pub async fn specs_that_cannot_be_met_are_refused_with_words(ground: &Arc<Ground>) {
    ground.reset();
    let home = Home::open(Settings::default()).await;
    home.provider("words", &ground.endpoint).await;
    let queues: Api<SQSQueue> = Api::namespaced(home.bench.client().clone(), "default");
    let made = |spec: Value| {
        let mut all = json!({ "providerRef": { "name": "words" }, "queueName": "words" });
        for (field, value) in spec.as_object().expect("an object") {
            all[field] = value.clone();
        }
        serde_json::from_value::<SQSQueue>(json!({
            "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "SQSQueue",
            "metadata": { "name": "words", "namespace": "default" }, "spec": all,
        }))
        .expect("a queue")
    };
    let suffix = "the name of a FIFO queue, and of no other, ends in .fifo";
    let table = [
        (json!({ "fifoQueue": true }), suffix),
        (json!({ "queueName": "words.fifo" }), suffix),
        (json!({ "contentBasedDeduplication": true }), "contentBasedDeduplication is for FIFO queues only"),
        (json!({ "messageRetentionPeriod": 59 }), "spec.messageRetentionPeriod"),
        (json!({ "messageRetentionPeriod": 1_209_601 }), "spec.messageRetentionPeriod"),
        (json!({ "delaySeconds": 901 }), "spec.delaySeconds"),
        (
            json!({ "kmsDataKeyReusePeriodSeconds": 60 }),
            "kmsDataKeyReusePeriodSeconds is for queues with a kmsMasterKeyId only",
        ),
        (json!({ "queueName": "with space" }), "spec.queueName"),
        (
            json!({ "deadLetterQueue": { "targetArn": "dead", "maxReceiveCount": 3 } }),
            "spec.deadLetterQueue.targetArn",
        ),
    ];
    for (spec, want) in table {
        let error =
            queues.create(&Default::default(), &made(spec.clone())).await.expect_err("refused").to_string();
        assert!(error.contains(want), "{spec}: {error}");
    }
    home.queue("words", "words", json!({})).await;
    home.until_met("words").await;
    let changes = [
        (json!({ "queueName": "other" }), "queueName is immutable: make a new queue"),
        (json!({ "queueName": "words.fifo", "fifoQueue": true }), "fifoQueue is immutable: make a new queue"),
    ];
    for (change, want) in changes {
        let patch = kube::api::Patch::Merge(json!({ "spec": change }));
        let error =
            queues.patch("words", &Default::default(), &patch).await.expect_err("refused").to_string();
        assert!(error.contains(want), "{change}: {error}");
    }
    // This machine has no queues; the object can still be deleted.
    home.bench.create(provider("local", "local", json!({ "region": "local" }))).await;
    until_says(&home, "local", "True/Available").await;
    home.queue("at-home", "local", json!({})).await;
    home.until("it says why not", async || {
        home.queue_says("at-home").await.0.starts_with("False/InvalidSpec")
    })
    .await;
    let said = home.queue_says("at-home").await.1;
    assert!(said.contains("is this machine, which serves RDSInstances only"), "{said}");
    home.bench.delete::<SQSQueue>(&named("at-home")).await;
    home.until("it is gone", async || home.bench.get::<SQSQueue>("default", "at-home").await.is_none()).await;
    // A dead-letter queue that is not there is AWS's to refuse.
    let dead = format!("arn:aws:sqs:{REGION}:123456789012:nobody");
    let patch = json!({ "spec": { "deadLetterQueue": { "targetArn": dead, "maxReceiveCount": 3 } } });
    home.bench.patch::<SQSQueue>(&named("words"), patch).await;
    home.until("AWS's own code", async || {
        home.queue_says("words").await.1.contains("SetQueueAttributes was refused with")
    })
    .await;
}
