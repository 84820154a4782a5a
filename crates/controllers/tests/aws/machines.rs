//! `EC2Instance`s, looked at with AWS's own client.

use std::sync::Arc;
use std::time::Duration;

use api::conditions::{DELETION_BLOCKED, READY, SYNCED, find};
use api::infra::{EC2Instance, EC2InstanceStatus};
use controllers::infra::{Desk, EC2Instances, Kind};
use kit::testing::{Bench, Gate, Scenario, converge, sweep};
use kit::{Name, Outcome};
use ports::aws::{Account, Login};
use proptest::prelude::{Just, ProptestConfig, Strategy, any};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::ground::{Ground, PATIENCE, REGION};
use crate::machine_rules::Rules;

/// How many passes a machine may need.
const PASSES: usize = 20;
/// How many machines are drawn.
const DRAWN: u32 = 12;
/// A script with something in it that nobody should see.
const SCRIPT: &str = "#!/bin/sh\necho hunter2\n";

/// The image in `tests/aws/images.json`.
const IMAGE: &str = "ami-03cf127a";

/// What machines are made of in an account.
struct Parts {
    subnet: Value,
    groups: [Value; 2],
}

/// An account with groups, a key and profiles in it.
fn furnished(ground: &Ground) -> Parts {
    ground.reset();
    let subnets = ground.ask("ec2", "describe_subnets", json!({}));
    let subnet = &subnets["Subnets"][0];
    let group = |name: &str| {
        let asked = json!({ "GroupName": name, "Description": name, "VpcId": subnet["VpcId"] });
        ground.ask("ec2", "create_security_group", asked)["GroupId"].clone()
    };
    let groups = [group("web"), group("ops")];
    ground.ask("ec2", "create_key_pair", json!({ "KeyName": "ops" }));
    for name in ["web", "db"] {
        ground.ask("iam", "create_instance_profile", json!({ "InstanceProfileName": name }));
    }
    Parts { subnet: subnet["SubnetId"].clone(), groups }
}

/// A manifest with every field of the spec.
fn full(parts: &Parts) -> Value {
    json!({
        "metadata": { "name": "web" },
        "spec": {
            "providerRef": { "name": "dev" }, "instanceName": "web 1", "instanceType": "t3.micro",
            "imageID": IMAGE, "keyName": "ops", "subnetID": parts.subnet,
            "securityGroupIDs": [parts.groups[0]], "iamInstanceProfile": "web", "userData": SCRIPT,
            "blockDeviceMappings": [
                { "deviceName": "/dev/sda1", "ebs": { "volumeSize": 8 } },
                { "deviceName": "/dev/xvdf", "ebs": {
                    "volumeSize": 20, "volumeType": "gp3", "iops": 4000, "deleteOnTermination": false, "encrypted": true,
                } },
            ],
            "monitoring": true, "disableApiTermination": true, "ebsOptimized": true, "tags": { "app": "shop" },
            "deletionPolicy": "Retain", "enableConsoleOutput": true,
        },
    })
}

/// A manifest with what has to be there.
fn plain() -> Value {
    json!({
        "metadata": { "name": "web" },
        "spec": {
            "providerRef": { "name": "dev" }, "instanceName": "web 1", "instanceType": "t3.micro",
            "imageID": IMAGE,
        },
    })
}

/// All machines that have not ended, as AWS's own client sees them.
fn machines(ground: &Ground) -> Vec<Value> {
    let all = ground.ask("ec2", "describe_instances", json!({}));
    let all = all["Reservations"].as_array().into_iter().flatten();
    let all = all.flat_map(|reservation| reservation["Instances"].as_array().cloned().unwrap_or_default());
    all.filter(|machine| machine["State"]["Name"] != "terminated").collect()
}

/// The only machine.
fn machine(ground: &Ground) -> Value {
    let mut all = machines(ground);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn tags(machine: &Value) -> Value {
    let all = machine["Tags"].as_array().into_iter().flatten();
    let pairs: std::collections::BTreeMap<_, _> =
        all.map(|tag| (tag["Key"].as_str().unwrap_or_default(), &tag["Value"])).collect();
    json!(pairs)
}

/// A machine in the words of its spec.
fn view(ground: &Ground, machine: &Value) -> Value {
    let id = &machine["InstanceId"];
    let attribute = |name: &str, key: &str| {
        let asked = json!({ "InstanceId": id, "Attribute": name });
        ground.ask("ec2", "describe_instance_attribute", asked)[key]["Value"].clone()
    };
    let filter = json!({ "Filters": [{ "Name": "instance-id", "Values": [id] }] });
    let profiles = ground.ask("ec2", "describe_iam_instance_profile_associations", filter);
    let mut groups: Vec<&str> = machine["SecurityGroups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|group| group["GroupId"].as_str())
        .collect();
    groups.sort_unstable();
    let disks: Vec<Value> = machine["BlockDeviceMappings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|disk| json!([disk["DeviceName"], disk["Ebs"]["DeleteOnTermination"]]))
        .collect();
    json!({
        "state": machine["State"]["Name"], "instanceType": machine["InstanceType"], "imageID": machine["ImageId"],
        "keyName": machine["KeyName"], "subnetID": machine["SubnetId"], "securityGroupIDs": groups,
        "profile": profiles["IamInstanceProfileAssociations"][0]["IamInstanceProfile"]["Arn"],
        "userData": attribute("userData", "UserData"), "disks": disks,
        "monitoring": machine["Monitoring"]["State"], "ebsOptimized": machine["EbsOptimized"],
        "disableApiTermination": attribute("disableApiTermination", "DisableApiTermination"),
        "tags": tags(machine),
    })
}

/// One plane for all: it takes seconds to start.
static BENCH: OnceCell<Bench> = OnceCell::const_new();

/// A namespace with a provider, a room, and the rules of EC2 in between.
struct Stage {
    bench: &'static Bench,
    space: String,
    room: EC2Instances,
    desk: Desk,
    rules: Rules,
}

impl Stage {
    async fn new(ground: &Ground, space: &str) -> Self {
        let (bench, rules) = (BENCH.get_or_init(Bench::start).await, Rules::default());
        for mut manifest in ground.provider() {
            manifest["metadata"]["namespace"] = space.into();
            bench.create(manifest).await;
        }
        let over = rules.clone();
        let desk = ground.desk_over(bench.gate(), move |inner| over.over(inner));
        Self { bench, space: space.to_owned(), room: EC2Instances::new(desk.clone()), desk, rules }
    }

    async fn create(&self, mut manifest: Value) -> Name {
        manifest["apiVersion"] = "aws-infra-operator.runner.codes/v1alpha1".into();
        manifest["kind"] = "EC2Instance".into();
        manifest["metadata"]["namespace"] = self.space.clone().into();
        let made = self.bench.create(manifest).await;
        Name::new(self.space.clone(), made["metadata"]["name"].as_str().expect("it has a name"))
    }

    /// Passes until one writes nothing and nothing is waited for. Returns what was written to AWS on the way.
    async fn rest(&self, name: &Name) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..PASSES {
            self.bench.gate().take();
            let outcome =
                self.bench.pass(&self.room, name).await.unwrap_or_else(|fault| panic!("{}", fault.story()));
            let writes = self.bench.gate().writes();
            all.extend(writes.iter().filter(|write| !write.contains('/')).cloned());
            match outcome {
                Outcome::After(delay) if delay <= PATIENCE => self.bench.clock().advance(delay),
                Outcome::After(_) | Outcome::OnChange | Outcome::Refused | Outcome::Gone
                    if writes.is_empty() =>
                {
                    return all;
                }
                Outcome::After(_) | Outcome::OnChange | Outcome::Refused | Outcome::Gone => {}
            }
        }
        panic!("{name} does not come to rest: {all:?}")
    }

    async fn get(&self, name: &Name) -> Option<EC2Instance> {
        self.bench.get(&name.namespace, &name.name).await
    }

    async fn status(&self, name: &Name) -> EC2InstanceStatus {
        self.get(name).await.expect("it is there").status.expect("it has a status")
    }

    async fn patch(&self, name: &Name, patch: Value) {
        self.bench.patch::<EC2Instance>(name, patch).await;
    }

    async fn annotate(&self, name: &Name, key: &str, value: &str) {
        self.patch(name, json!({ "metadata": { "annotations": { key: value } } })).await;
    }

    async fn delete(&self, name: &Name) {
        self.bench.delete::<EC2Instance>(name).await;
    }
}

/// Reason and message of a condition.
fn told(status: &EC2InstanceStatus, condition: &str) -> (String, String) {
    let found = find(&status.conditions, condition).unwrap_or_else(|| panic!("{condition} is not said"));
    (found.reason.clone(), found.message.clone())
}

fn fields(status: &EC2InstanceStatus) -> Vec<&str> {
    status.drift.iter().map(|drift| drift.field.as_str()).collect()
}

/// One machine on an account.
fn one_machine(ground: &Arc<Ground>, gate: &Gate, rules: Rules, manifest: Value) -> Scenario<EC2Instances> {
    let room = EC2Instances::new(ground.desk_over(gate, move |inner| rules.over(inner)));
    let [secret, provider] = ground.provider();
    let scenario = Scenario::new(room, manifest).given(secret).given(provider).patience(PATIENCE);
    let ground = ground.clone();
    scenario.outside(move || machines(&ground).iter().map(brief).collect())
}

/// A machine, without what the server draws. It is looked at hundreds of times, so with one call only.
fn brief(machine: &Value) -> String {
    let view = json!([machine["State"]["Name"], machine["InstanceType"], machine["ImageId"], tags(machine)]);
    format!("{view}\n")
}

pub async fn a_machine_converges_with_every_field(ground: &Arc<Ground>) {
    let known = ground.ask("ec2", "describe_images", json!({ "ImageIds": [IMAGE] }));
    assert_eq!(known["Images"][0]["ImageId"], IMAGE);
    let furnish = |gate: &Gate| one_machine(ground, gate, Rules::default(), full(&furnished(ground)));
    let bench = converge(furnish).await;
    let live = machine(ground);
    let groups = ground.ask(
        "ec2",
        "describe_security_groups",
        json!({ "Filters": [{ "Name": "group-name", "Values": ["web"] }] }),
    );
    let want = json!({
        "state": "running", "instanceType": "t3.micro", "imageID": live["ImageId"], "keyName": "ops",
        "subnetID": live["SubnetId"], "securityGroupIDs": [groups["SecurityGroups"][0]["GroupId"]],
        "profile": "arn:aws:iam::123456789012:instance-profile/web", "userData": "IyEvYmluL3NoCmVjaG8gaHVudGVyMgo=",
        "disks": [["/dev/sda1", true], ["/dev/xvdf", false]], "monitoring": "enabled", "ebsOptimized": true,
        "disableApiTermination": true,
        "tags": { "Name": "web 1", "app": "shop", "team": "shop", "terrace.dev/owner": "default/web" },
    });
    assert_eq!(view(ground, &live), want);
    let volumes = ground.ask("ec2", "describe_volumes", json!({}));
    for volume in volumes["Volumes"].as_array().expect("a list") {
        assert_eq!(tags(volume), want["tags"], "disks carry the tags, too");
    }
    let instance: EC2Instance = bench.get("default", "web").await.expect("it is there");
    let status = instance.status.expect("it has a status");
    assert!(status.ready, "{status:?}");
    assert_eq!(json!(status.instance_id), live["InstanceId"]);
    assert_eq!(json!(status.private_ip), live["PrivateIpAddress"]);
    assert_eq!(json!(status.availability_zone), live["Placement"]["AvailabilityZone"]);
    assert_eq!(status.instance_state.as_deref(), Some("running"));
    assert!(status.launch_time.is_some());
    let console = status.console_output.expect("it is shown");
    assert!(console.contains("Linux version"), "{console}");
    assert!(
        console.chars().all(|letter| letter == '\n' || letter == '\t' || !letter.is_control()),
        "{console:?}"
    );
}

pub async fn a_machine_survives_any_broken_call(ground: &Arc<Ground>) {
    // Nobody sees the machine before it is asked for twice, so that every run asks twice.
    sweep(|gate| {
        ground.reset();
        one_machine(ground, gate, Rules::shy(), plain())
    })
    .await;
    assert_eq!(machines(ground), Vec::<Value>::new(), "the machine is gone");
}

pub async fn every_setting_of_a_machine_can_be_changed(ground: &Arc<Ground>) {
    let parts = furnished(ground);
    let stage = Stage::new(ground, "settings").await;
    let mut manifest = full(&parts);
    let name = stage.create(manifest.take()).await;
    stage.rest(&name).await;
    let id = machine(ground)["InstanceId"].clone();
    let table = [
        (json!({ "instanceName": "web 2" }), "CreateTags", "/tags/Name", json!("web 2")),
        (json!({ "securityGroupIDs": parts.groups }), "ModifyInstanceAttribute", "", json!(null)),
        (
            json!({ "iamInstanceProfile": "db" }),
            "ReplaceIamInstanceProfileAssociation",
            "/profile",
            json!("arn:aws:iam::123456789012:instance-profile/db"),
        ),
        (
            json!({ "iamInstanceProfile": "arn:aws:iam::123456789012:instance-profile/db" }),
            "",
            "/profile",
            json!("arn:aws:iam::123456789012:instance-profile/db"),
        ),
        (json!({ "iamInstanceProfile": null }), "DisassociateIamInstanceProfile", "/profile", json!(null)),
        (
            json!({ "iamInstanceProfile": "arn:aws:iam::123456789012:instance-profile/web" }),
            "AssociateIamInstanceProfile",
            "/profile",
            json!("arn:aws:iam::123456789012:instance-profile/web"),
        ),
        (json!({ "monitoring": false }), "UnmonitorInstances", "/monitoring", json!("disabled")),
        (json!({ "monitoring": true }), "MonitorInstances", "/monitoring", json!("enabled")),
        (
            json!({ "disableApiTermination": false }),
            "ModifyInstanceAttribute",
            "/disableApiTermination",
            json!(false),
        ),
        (json!({ "tags": { "app": "store", "tier": "front" } }), "CreateTags", "/tags/tier", json!("front")),
        (json!({ "tags": { "app": "store", "tier": null } }), "DeleteTags", "/tags/tier", json!(null)),
        (
            json!({ "instanceType": "t3.large" }),
            "CreateTags StopInstances ModifyInstanceAttribute StartInstances DeleteTags",
            "/instanceType",
            json!("t3.large"),
        ),
        (
            json!({ "userData": "#!/bin/sh\ntrue\n" }),
            "CreateTags StopInstances ModifyInstanceAttribute StartInstances DeleteTags",
            "/userData",
            json!("IyEvYmluL3NoCnRydWUK"),
        ),
        (
            json!({ "ebsOptimized": false }),
            "CreateTags StopInstances ModifyInstanceAttribute StartInstances DeleteTags",
            "/ebsOptimized",
            json!(false),
        ),
    ];
    for (patch, calls, path, want) in table {
        stage.patch(&name, json!({ "spec": patch })).await;
        let written = stage.rest(&name).await;
        assert_eq!(written.join(" "), calls, "{patch}");
        let live = machine(ground);
        assert_eq!(live["InstanceId"], id, "{patch} makes no new machine");
        let view = view(ground, &live);
        assert_eq!(view["state"], "running", "{patch}");
        assert_eq!(view["tags"]["terrace.dev/restart"], Value::Null, "{patch}");
        if !path.is_empty() {
            assert_eq!(view.pointer(path).cloned().unwrap_or_default(), want, "{patch}");
        }
        let status = stage.status(&name).await;
        assert!(status.ready && status.drift.is_empty(), "{patch}: {status:?}");
    }
    let mut groups: Vec<&str> = parts.groups.iter().filter_map(Value::as_str).collect();
    groups.sort_unstable();
    assert_eq!(view(ground, &machine(ground))["securityGroupIDs"], json!(groups));
    stage.patch(&name, json!({ "spec": { "enableConsoleOutput": false } })).await;
    assert_eq!(stage.rest(&name).await, Vec::<String>::new());
    assert_eq!(stage.status(&name).await.console_output, None);
}

pub async fn what_was_changed_outside_is_put_back(ground: &Arc<Ground>) {
    let parts = furnished(ground);
    let stage = Stage::new(ground, "drift").await;
    let name = stage.create(full(&parts)).await;
    stage.rest(&name).await;
    let live = machine(ground);
    let (id, before) = (live["InstanceId"].clone(), view(ground, &live));
    let of = |more: Value| {
        let mut asked = json!({ "InstanceId": id });
        asked.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        asked
    };
    ground.ask("ec2", "modify_instance_attribute", of(json!({ "Groups": [parts.groups[1]] })));
    ground.ask(
        "ec2",
        "modify_instance_attribute",
        of(json!({ "DisableApiTermination": { "Value": false } })),
    );
    let disk = json!([{ "DeviceName": "/dev/xvdf", "Ebs": { "DeleteOnTermination": true } }]);
    ground.ask("ec2", "modify_instance_attribute", of(json!({ "BlockDeviceMappings": disk })));
    let tags = json!([{ "Key": "app", "Value": "other" }, { "Key": "theirs", "Value": "stays" }]);
    ground.ask("ec2", "create_tags", json!({ "Resources": [id], "Tags": tags }));
    ground.ask("ec2", "delete_tags", json!({ "Resources": [id], "Tags": [{ "Key": "terrace.dev/owner" }] }));
    stage.rest(&name).await;
    let status = stage.status(&name).await;
    let want = [
        "tags[app]",
        "tags[terrace.dev/owner]",
        "securityGroupIDs",
        "blockDeviceMappings[/dev/xvdf].ebs.deleteOnTermination",
        "disableApiTermination",
    ];
    assert_eq!(fields(&status), want, "{:?}", status.drift);
    assert_eq!(told(&status, SYNCED).0, "DriftCorrected");
    let mut after = view(ground, &machine(ground));
    assert_eq!(after["tags"].as_object_mut().expect("an object").remove("theirs"), Some(json!("stays")));
    assert_eq!(after, before);

    // What needs a stopped machine is put back over several passes, and told all the same.
    ground.ask("ec2", "stop_instances", json!({ "InstanceIds": [id] }));
    ground.ask("ec2", "modify_instance_attribute", of(json!({ "InstanceType": { "Value": "t3.large" } })));
    ground.ask("ec2", "modify_instance_attribute", of(json!({ "UserData": { "Value": "c3R1ZmY=" } })));
    ground.ask("ec2", "start_instances", json!({ "InstanceIds": [id] }));
    let written = stage.rest(&name).await;
    assert!(written.contains(&"StopInstances".to_owned()), "{written:?}");
    let status = stage.status(&name).await;
    assert_eq!(fields(&status), ["instanceType", "userData"]);
    assert_eq!(told(&status, SYNCED).0, "DriftCorrected");
    let shown = format!("{status:?}");
    assert!(!shown.contains("hunter2") && shown.contains("sha256"), "{shown}");
    let mut after = view(ground, &machine(ground));
    after["tags"].as_object_mut().expect("an object").remove("theirs");
    assert_eq!(after, before);
}

pub async fn a_machine_that_is_only_watched_is_not_changed(ground: &Arc<Ground>) {
    ground.reset();
    let stage = Stage::new(ground, "watched").await;
    let name = stage.create(plain()).await;
    stage.rest(&name).await;
    stage.annotate(&name, "terrace.dev/mode", "observe").await;
    let id = machine(ground)["InstanceId"].clone();
    ground.ask(
        "ec2",
        "create_tags",
        json!({ "Resources": [id], "Tags": [{ "Key": "Name", "Value": "other" }] }),
    );
    stage.patch(&name, json!({ "spec": { "instanceType": "t3.large" } })).await;
    let before = view(ground, &machine(ground));
    assert_eq!(stage.rest(&name).await, Vec::<String>::new());
    let status = stage.status(&name).await;
    assert_eq!(fields(&status), ["tags[Name]", "instanceType"]);
    assert_eq!(told(&status, SYNCED).0, "Drifted");
    stage.delete(&name).await;
    assert_eq!(stage.rest(&name).await, Vec::<String>::new());
    assert!(stage.get(&name).await.is_none(), "the object goes");
    assert_eq!(view(ground, &machine(ground)), before);
}

/// A machine that somebody else made.
fn foreign(ground: &Ground, parts: &Parts, name: &str) -> String {
    let mut tags = vec![json!({ "Key": "team", "Value": "shop" })];
    tags.extend((!name.is_empty()).then(|| json!({ "Key": "Name", "Value": name })));
    let asked = json!({
        "ImageId": IMAGE, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, "KeyName": "ops",
        "TagSpecifications": [{ "ResourceType": "instance", "Tags": tags }], "UserData": SCRIPT,
        "SecurityGroupIds": [parts.groups[0]], "IamInstanceProfile": { "Name": "web" },
    });
    let made = ground.ask("ec2", "run_instances", asked);
    made["Instances"][0]["InstanceId"].as_str().expect("it has an id").to_owned()
}

pub async fn a_machine_is_adopted_only_when_it_is_agreed(ground: &Arc<Ground>) {
    let parts = furnished(ground);
    let stage = Stage::new(ground, "adoption").await;
    let id = foreign(ground, &parts, "web 1");
    let before = view(ground, &machine(ground));
    let mut manifest = plain();
    manifest["spec"]["monitoring"] = true.into();
    let name = stage.create(manifest).await;

    assert_eq!(stage.rest(&name).await, Vec::<String>::new(), "nobody agreed");
    assert_eq!(told(&stage.status(&name).await, READY).0, "NotOurs");
    stage.annotate(&name, "terrace.dev/adopt", "true").await;
    assert_eq!(stage.rest(&name).await, Vec::<String>::new(), "nobody approved the differences");
    let status = stage.status(&name).await;
    assert_eq!(fields(&status), ["tags[Name]", "monitoring", "iamInstanceProfile"][1..], "{status:?}");
    let (reason, message) = told(&status, READY);
    assert_eq!(reason, "AwaitingApproval");
    assert_eq!(view(ground, &machine(ground)), before);
    let digest = message.split_once("approve-plan: ").and_then(|(_, rest)| rest.split(' ').next());
    stage.annotate(&name, "terrace.dev/approve-plan", digest.expect("it names the digest")).await;
    stage.rest(&name).await;
    let live = machine(ground);
    assert_eq!(live["InstanceId"], json!(id));
    let after = view(ground, &live);
    assert_eq!((&after["monitoring"], &after["profile"]), (&json!("enabled"), &Value::Null));
    assert_eq!(after["tags"]["terrace.dev/owner"], "adoption/web");
    assert!(stage.status(&name).await.ready);

    // Of two with one name nobody can say which is meant.
    for _ in 0..2 {
        foreign(ground, &parts, "twin");
    }
    let mut manifest = plain();
    manifest["metadata"] = json!({ "name": "twin", "annotations": { "terrace.dev/adopt": "true" } });
    manifest["spec"]["instanceName"] = "twin".into();
    let twin = stage.create(manifest).await;
    assert_eq!(stage.rest(&twin).await, Vec::<String>::new());
    let (reason, message) = told(&stage.status(&twin).await, READY);
    assert_eq!(reason, "NotOurs");
    assert!(message.contains("aws-infra-operator.runner.codes/instance-id"), "{message}");
    // And one that does not exist is not made instead.
    stage.annotate(&twin, "aws-infra-operator.runner.codes/instance-id", "i-00000000000000000").await;
    assert_eq!(stage.rest(&twin).await, Vec::<String>::new());
    assert!(told(&stage.status(&twin).await, READY).1.contains("does not exist"));
    stage.delete(&twin).await;
    stage.rest(&twin).await;
    assert_eq!(machines(ground).len(), 3, "what was not ours is left alone");
}

pub async fn a_machine_that_was_terminated_is_made_again_once(ground: &Arc<Ground>) {
    ground.reset();
    let stage = Stage::new(ground, "ended").await;
    let name = stage.create(plain()).await;
    stage.rest(&name).await;
    let first = machine(ground)["InstanceId"].clone();
    // A machine of that name that is not ours does not take its place.
    ground.ask("ec2", "terminate_instances", json!({ "InstanceIds": [first] }));
    stage.bench.pass(&stage.room, &name).await.expect("it can be looked at");
    let status = stage.status(&name).await;
    assert_eq!(told(&status, READY).0, "CreationFailed", "one that ends at once is not replaced at once");
    assert_eq!(machines(ground), Vec::<Value>::new());
    stage.bench.clock().advance(Duration::from_secs(61));
    let written = stage.rest(&name).await;
    assert_eq!(written, ["RunInstances"]);
    let second = machine(ground)["InstanceId"].clone();
    assert_ne!(first, second);
    assert_eq!(json!(stage.status(&name).await.instance_id), second);
    let asked = stage.rules.asked();
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0], asked[1], "with the first token AWS would say that the machine is gone");

    // It may end before anybody saw it: then its own token tells.
    ground.ask("ec2", "terminate_instances", json!({ "InstanceIds": [second] }));
    stage.patch(&name, json!({ "status": { "instanceID": first } })).await;
    stage.bench.clock().advance(Duration::from_secs(61));
    assert_eq!(stage.rest(&name).await, ["RunInstances"]);
    let asked = stage.rules.asked();
    assert!(asked.len() == 3 && !asked[..2].contains(&asked[2]), "{asked:?}");
    assert_eq!(machines(ground).len(), 1);
}

pub async fn a_machine_that_was_stopped_stays_so(ground: &Arc<Ground>) {
    ground.reset();
    let stage = Stage::new(ground, "stopped").await;
    let name = stage.create(plain()).await;
    stage.rest(&name).await;
    let id = machine(ground)["InstanceId"].clone();
    ground.ask("ec2", "stop_instances", json!({ "InstanceIds": [id] }));
    assert_eq!(stage.rest(&name).await, Vec::<String>::new());
    let status = stage.status(&name).await;
    assert_eq!((status.instance_state.as_deref(), status.ready), (Some("stopped"), false));
    assert_eq!(told(&status, READY).0, "Stopped");
    stage.patch(&name, json!({ "spec": { "instanceType": "t3.large" } })).await;
    assert_eq!(stage.rest(&name).await, ["ModifyInstanceAttribute"]);
    let live = machine(ground);
    assert_eq!((&live["State"]["Name"], &live["InstanceType"]), (&json!("stopped"), &json!("t3.large")));
    ground.ask("ec2", "start_instances", json!({ "InstanceIds": [id] }));
    stage.rest(&name).await;
    assert!(stage.status(&name).await.ready);
}

pub async fn two_machines_with_one_mark_are_left_alone(ground: &Arc<Ground>) {
    let parts = furnished(ground);
    let stage = Stage::new(ground, "twins").await;
    let name = stage.create(plain()).await;
    stage.rest(&name).await;
    let copy = foreign(ground, &parts, "copy");
    let mark = json!([{ "Key": "terrace.dev/owner", "Value": "twins/web" }]);
    ground.ask("ec2", "create_tags", json!({ "Resources": [copy], "Tags": mark }));
    assert_eq!(stage.rest(&name).await, Vec::<String>::new());
    let (reason, message) = told(&stage.status(&name).await, READY);
    assert_eq!(reason, "NotOurs");
    assert!(message.contains(&copy), "{message}");
    stage.delete(&name).await;
    stage.bench.gate().take();
    stage.bench.pass(&stage.room, &name).await.expect("it can be looked at");
    assert_eq!(told(&stage.status(&name).await, DELETION_BLOCKED).0, "WouldLoseData");
    assert_eq!(machines(ground).len(), 2);
    ground.ask(
        "ec2",
        "delete_tags",
        json!({ "Resources": [copy], "Tags": [{ "Key": "terrace.dev/owner" }] }),
    );
    stage.rest(&name).await;
    assert_eq!(machine(ground)["InstanceId"], json!(copy), "only ours is terminated");
}

pub async fn every_policy_is_carried_out(ground: &Arc<Ground>) {
    ground.reset();
    let stage = Stage::new(ground, "policies").await;
    let table = [
        ("Delete", &["TerminateInstances"][..], None),
        ("Retain", &[], Some(("running", json!("policies/web")))),
        ("Stop", &["StopInstances", "DeleteTags"], Some(("stopped", Value::Null))),
    ];
    for (policy, calls, left) in table {
        let mut manifest = plain();
        manifest["spec"]["deletionPolicy"] = policy.into();
        let name = stage.create(manifest).await;
        stage.rest(&name).await;
        let id = machine(ground)["InstanceId"].clone();
        stage.delete(&name).await;
        assert_eq!(stage.rest(&name).await, calls, "{policy}");
        assert!(stage.get(&name).await.is_none(), "{policy}: the object goes");
        let seen = machines(ground);
        let seen = seen.first().map(|live| {
            (live["State"]["Name"].as_str().unwrap_or_default(), tags(live)["terrace.dev/owner"].clone())
        });
        assert_eq!(seen, left, "{policy}");
        ground.ask("ec2", "terminate_instances", json!({ "InstanceIds": [id] }));
    }
}

pub async fn a_protected_machine_is_not_terminated(ground: &Arc<Ground>) {
    ground.reset();
    let stage = Stage::new(ground, "protected").await;
    let mut manifest = plain();
    manifest["spec"]["disableApiTermination"] = true.into();
    let name = stage.create(manifest).await;
    stage.rest(&name).await;
    stage.delete(&name).await;
    let look = async || {
        stage.bench.gate().take();
        stage.bench.pass(&stage.room, &name).await.expect("it can be looked at");
        let writes = stage.bench.gate().writes();
        writes.into_iter().filter(|write| !write.contains('/')).collect::<Vec<_>>()
    };
    assert_eq!(look().await, Vec::<String>::new());
    let (reason, message) = told(&stage.status(&name).await, DELETION_BLOCKED);
    assert_eq!(reason, "AwaitingApproval");
    assert!(message.contains("disableApiTermination: false"), "{message}");
    assert_eq!(machine(ground)["State"]["Name"], "running");
    stage.patch(&name, json!({ "spec": { "disableApiTermination": false } })).await;
    assert_eq!(stage.rest(&name).await, ["ModifyInstanceAttribute", "TerminateInstances"]);
    assert_eq!(machines(ground), Vec::<Value>::new());

    // Protected by somebody else, it is not ours to unlock.
    let name = stage.create(plain()).await;
    stage.rest(&name).await;
    let id = machine(ground)["InstanceId"].clone();
    let lock = |value: bool| json!({ "InstanceId": id, "DisableApiTermination": { "Value": value } });
    ground.ask("ec2", "modify_instance_attribute", lock(true));
    stage.delete(&name).await;
    assert_eq!(look().await, Vec::<String>::new());
    assert_eq!(told(&stage.status(&name).await, DELETION_BLOCKED).0, "WouldLoseData");
    ground.ask("ec2", "modify_instance_attribute", lock(false));
    assert_eq!(stage.rest(&name).await, ["TerminateInstances"]);
}

fn account(ground: &Ground) -> Account {
    let login = Login::Keys {
        id: "AKIAEXAMPLE".to_owned().into(),
        secret: "not-a-secret".to_owned().into(),
        token: None,
    };
    let endpoint = Some(ground.endpoint.clone());
    Account { provider: "default/dev".into(), region: REGION.into(), endpoint, login, role: None }
}

pub async fn what_an_account_holds_can_be_adopted_as_it_is(ground: &Arc<Ground>) {
    let parts = furnished(ground);
    let stage = Stage::new(ground, "inventory").await;
    for name in ["web 1", "twin", "twin", ""] {
        foreign(ground, &parts, name);
    }
    let gone = foreign(ground, &parts, "gone");
    ground.ask("ec2", "terminate_instances", json!({ "InstanceIds": [gone] }));
    let before: Vec<Value> = machines(ground).iter().map(|machine| view(ground, machine)).collect();
    let provider = serde_json::from_value(json!({ "name": "dev" })).expect("a reference");
    let found = stage.desk.found(&account(ground), &provider, Kind::EC2Instance).await;
    let found = found.expect("the account can be read");
    assert_eq!(found.len(), 4);
    let mut names: Vec<String> = Vec::new();
    for instance in found {
        let mut manifest = instance.manifest;
        manifest["metadata"]["annotations"].as_object_mut().and_then(|all| all.remove("terrace.dev/mode"));
        let name = stage.create(manifest).await;
        assert_eq!(stage.rest(&name).await, ["CreateTags"], "only the mark is set on {name}");
        let status = stage.status(&name).await;
        assert!(status.ready && status.drift.is_empty(), "{status:?}");
        names.push(name.name);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4, "each has a name of its own: {names:?}");
    let mut after: Vec<Value> = machines(ground).iter().map(|machine| view(ground, machine)).collect();
    for view in &mut after {
        let mark = view["tags"].as_object_mut().expect("an object").remove("terrace.dev/owner");
        assert!(mark.is_some(), "it is marked");
    }
    assert_eq!(after, before);
}

/// Any spec that EC2 takes.
fn specs(parts: &Parts) -> impl Strategy<Value = Value> + use<> {
    let (subnet, groups) = (parts.subnet.clone(), parts.groups.clone());
    let maybe = |value: Value| proptest::option::of(Just(value));
    let flags = any::<[bool; 4]>();
    let texts = ("[a-z *?&=+/ü]{1,20}", proptest::option::of("[ -~\n]{1,200}"));
    let tags = proptest::collection::btree_map("[a-zA-Z+:/ ]{1,12}", "[ -~]{0,20}", 0..4);
    let profile = proptest::option::of(proptest::sample::select(vec![
        "web",
        "db",
        "arn:aws:iam::123456789012:instance-profile/web",
    ]));
    let kinds = proptest::sample::select(vec!["t3.micro", "t3.large", "m5.large"]);
    let disk = proptest::option::of((1..100, any::<bool>(), proptest::sample::select(vec!["gp2", "gp3"])));
    (texts, tags, profile, kinds, flags, (maybe(json!("ops")), maybe(subnet), 0..3_usize, disk)).prop_map(
        move |((name, script), mut tags, profile, kind, flags, (key, subnet, count, disk))| {
            tags.retain(|key, _| !key.starts_with("aws:") && key != "Name");
            let mut spec = json!({
                "providerRef": { "name": "dev" }, "instanceName": name, "instanceType": kind, "imageID": IMAGE,
                "tags": tags, "monitoring": flags[0], "disableApiTermination": flags[1],
                "ebsOptimized": flags[2], "enableConsoleOutput": flags[3],
                "securityGroupIDs": groups[..count],
            });
            let disk = disk.map(|(size, goes, kind)| json!([{ "deviceName": "/dev/xvdf", "ebs": {
                "volumeSize": size, "volumeType": kind, "deleteOnTermination": goes,
            } }]));
            let optional = [
                ("userData", script.map(Value::from)), ("keyName", key), ("subnetID", subnet),
                ("iamInstanceProfile", profile.map(Value::from)), ("blockDeviceMappings", disk),
            ];
            for (field, value) in optional {
                if let Some(value) = value {
                    spec[field] = value;
                }
            }
            spec
        },
    )
}

/// What AWS's own client should see, where the spec says.
fn agrees(spec: &Value, view: &Value, own: &str) {
    let on = |flag: &Value| if *flag == true { json!("enabled") } else { json!("disabled") };
    assert_eq!(view["monitoring"], on(&spec["monitoring"]));
    for field in ["instanceType", "imageID", "disableApiTermination", "ebsOptimized"] {
        assert_eq!(view[field], spec[field], "{field}");
    }
    for field in ["keyName", "subnetID"].iter().filter(|field| !spec[**field].is_null()) {
        assert_eq!(view[*field], spec[*field], "{field}");
    }
    let mut tags = spec["tags"].clone();
    tags["Name"] = spec["instanceName"].clone();
    tags["terrace.dev/owner"] = own.into();
    if tags["team"].is_null() {
        tags["team"] = "shop".into();
    }
    assert_eq!(view["tags"], tags);
    let profile = spec["iamInstanceProfile"].as_str().map(|name| name.rsplit('/').next());
    assert_eq!(view["profile"].as_str().map(|arn| arn.rsplit('/').next()), profile);
    if let Some(script) = spec["userData"].as_str() {
        assert_eq!(view["userData"], json!(aws_smithy_types::base64::encode(script)));
    }
    let mut groups: Vec<&str> =
        spec["securityGroupIDs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    groups.sort_unstable();
    assert!(groups.is_empty() || view["securityGroupIDs"] == json!(groups), "{view}");
    if let Some(disk) = spec["blockDeviceMappings"].get(0) {
        assert_eq!(view["disks"], json!([[disk["deviceName"], disk["ebs"]["deleteOnTermination"]]]));
    }
}

pub async fn any_machine_comes_to_rest_as_asked(ground: &Arc<Ground>) {
    let parts = furnished(ground);
    let stage = Stage::new(ground, "drawn").await;
    let mut runner = TestRunner::new(ProptestConfig {
        cases: DRAWN,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let count = std::cell::Cell::new(0);
    let drawn = runner.run(&specs(&parts), |spec| {
        count.set(count.get() + 1);
        let manifest = json!({ "metadata": { "name": format!("drawn-{}", count.get()) }, "spec": spec });
        let one = async {
            let name = stage.create(manifest).await;
            stage.rest(&name).await;
            stage.bench.gate().take();
            stage.bench.pass(&stage.room, &name).await.expect("it can be looked at");
            assert_eq!(stage.bench.gate().writes(), Vec::<String>::new());
            let own = name.to_string();
            let all = machines(ground);
            let live = all.iter().find(|machine| tags(machine)["terrace.dev/owner"] == json!(own));
            agrees(&spec, &view(ground, live.expect("it was made")), &own);
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(one));
        Ok(())
    });
    drawn.unwrap_or_else(|failure| panic!("{failure}"));
}
