use std::sync::Arc;

use api::secret::Sealed;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use parking_lot::Mutex;

use super::form::Form;
use super::launch::{Launch, NewDisk, run};
use super::{Disk, Power, Search, Volume, wire, xml};
use crate::aws::tests::paused;
use crate::aws::{Account, Aws, Error, Login, Settings, Tags};

#[test]
fn a_form_is_spelled_as_it_is_signed() {
    let table = [
        ("a plain field", Form::default().field("ImageId", "ami-1"), "ImageId=ami-1"),
        ("letters with a meaning", Form::default().field("a b", "x&y=z+ü/~"), "a%20b=x%26y%3Dz%2B%C3%BC%2F~"),
        (
            "a list counts from one",
            Form::default().list("InstanceId", ["i-1", "i-2"]),
            "InstanceId.1=i-1&InstanceId.2=i-2",
        ),
        ("an absent field", Form::default().maybe("KeyName", None::<&str>), ""),
        (
            "a filter means what it says",
            Form::default().filter(1, "tag:Name", &["w*b?\\"]),
            "Filter.1.Name=tag%3AName&Filter.1.Value.1=w%5C%2Ab%5C%3F%5C%5C",
        ),
        ("an action", Form::new("StopInstances"), "Action=StopInstances&Version=2016-11-15"),
    ];
    for (rule, form, want) in table {
        assert_eq!(form.into_body(), want, "{rule}");
    }
}

#[test]
fn a_machine_is_asked_for_with_all_it_needs() {
    let volume = Volume { size_gib: 20, volume_type: "gp3".into(), iops: Some(3000), ..Volume::default() };
    let launch = Launch {
        token: "terrace-1".into(),
        image_id: "ami-1".into(),
        instance_type: "t3.micro".into(),
        groups: vec!["sg-1".into()],
        profile: Some("web".into()),
        user_data: Some(Sealed::new("#!/bin/sh".into())),
        disks: vec![NewDisk {
            device: "/dev/xvdf".into(),
            volume: Some(volume),
            delete_on_termination: true,
        }],
        protected: true,
        tags: Tags::from([("app".into(), "shop".into())]),
        ..Launch::default()
    };
    let body = run(&launch).into_body();
    for part in [
        "ClientToken=terrace-1",
        "MinCount=1&MaxCount=1",
        "UserData=IyEvYmluL3No",
        "SecurityGroupId.1=sg-1",
        "IamInstanceProfile.Name=web",
        "DisableApiTermination=true",
        "EbsOptimized=false",
        "BlockDeviceMapping.1.DeviceName=%2Fdev%2Fxvdf&BlockDeviceMapping.1.Ebs.VolumeSize=20",
        "BlockDeviceMapping.1.Ebs.Iops=3000&BlockDeviceMapping.1.Ebs.DeleteOnTermination=true",
        "TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=app&TagSpecification.1.Tag.1.Value=shop",
        "TagSpecification.2.ResourceType=volume",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    assert!(!body.contains("KeyName"), "nobody asked for a key: {body}");
    assert!(!format!("{launch:?}").contains("/bin/sh"), "a script is shown to nobody");
}

const MACHINES: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
  <requestId>r-1</requestId>
  <reservationSet><item><reservationId>r-1</reservationId><ownerId>123456789012</ownerId><groupSet/>
    <instancesSet><item>
      <instanceId>i-1</instanceId><imageId>ami-1</imageId>
      <instanceState><code>16</code><name>running</name></instanceState>
      <privateDnsName>ip-10-0-0-1.internal</privateDnsName><dnsName/>
      <keyName>ops</keyName><clientToken>terrace-1</clientToken><instanceType>t3.micro</instanceType>
      <launchTime>2026-01-01T10:00:00.000Z</launchTime>
      <placement><availabilityZone>eu-central-1a</availabilityZone><groupName/></placement>
      <monitoring><state>pending</state></monitoring>
      <subnetId>subnet-1</subnetId><privateIpAddress>10.0.0.1</privateIpAddress>
      <groupSet><item><groupId>sg-2</groupId><groupName>b</groupName></item><item><groupId>sg-1</groupId></item></groupSet>
      <blockDeviceMapping><item><deviceName>/dev/xvda</deviceName>
        <ebs><volumeId>vol-1</volumeId><status>attached</status><deleteOnTermination>true</deleteOnTermination></ebs>
      </item></blockDeviceMapping>
      <tagSet><item><key>Name</key><value>web &amp; shop</value></item><item><key>empty</key><value/></item></tagSet>
      <iamInstanceProfile><arn>arn:aws:iam::123456789012:instance-profile/web</arn><id>A</id></iamInstanceProfile>
      <ebsOptimized>true</ebsOptimized>
      <networkInterfaceSet><item><privateIpAddress>10.9.9.9</privateIpAddress></item></networkInterfaceSet>
    </item></instancesSet>
  </item></reservationSet>
  <nextToken>more</nextToken>
</DescribeInstancesResponse>
"#;

#[test]
fn a_machine_is_read() {
    let page = xml::read(MACHINES.as_bytes(), xml::machines).expect("it is XML");
    assert_eq!(page.next.as_deref(), Some("more"));
    let [machine] = page.items.as_slice() else { panic!("{:?}", page.items) };
    assert_eq!((machine.id.as_str(), &machine.power), ("i-1", &Power::Running));
    assert_eq!(machine.groups.iter().map(String::as_str).collect::<Vec<_>>(), ["sg-1", "sg-2"]);
    assert_eq!(
        machine.tags,
        Tags::from([("Name".into(), "web & shop".into()), ("empty".into(), String::new())])
    );
    let disk = Disk { device: "/dev/xvda".into(), volume: "vol-1".into(), delete_on_termination: true };
    assert_eq!(machine.disks, [disk]);
    assert_eq!(machine.private_ip.as_deref(), Some("10.0.0.1"), "not that of an interface");
    assert_eq!(machine.public_dns, None, "an empty name is none");
    assert_eq!(machine.profile.as_deref(), Some("arn:aws:iam::123456789012:instance-profile/web"));
    assert!(machine.monitoring && machine.ebs_optimized);
    assert_eq!(machine.launch_time.map(|at| at.to_string()).as_deref(), Some("2026-01-01T10:00:00Z"));
}

#[test]
fn an_answer_that_was_cut_short_is_not_read() {
    for length in [0, 40, 400, MACHINES.len() / 2, MACHINES.trim_end().len() - 1] {
        let cut = &MACHINES.as_bytes()[..length];
        assert!(xml::read(cut, xml::machines).is_err(), "after {length} bytes");
    }
}

#[test]
fn attributes_are_read() {
    let body = |inner: &str| format!("<R><instanceId>i-1</instanceId>{inner}</R>");
    let protected = |inner: &str| xml::read(body(inner).as_bytes(), xml::protected).ok();
    let on = "<disableApiTermination><value>true</value></disableApiTermination>";
    assert_eq!(protected(on), Some(true));
    assert_eq!(protected(&on.replace("true", "false")), Some(false));
    assert_eq!(protected(""), None, "what is not said is not guessed");
    let script = |inner: &str| xml::read(body(inner).as_bytes(), xml::user_data).expect("it is XML");
    let given = script("<userData><value>IyEvYmluL3No</value></userData>");
    assert_eq!(given.map(Sealed::into_open).as_deref(), Some(b"#!/bin/sh".as_slice()));
    assert_eq!(script("<userData/>"), None);
    assert_eq!(script(""), None);
}

#[test]
fn an_error_keeps_the_word_of_aws() {
    let body = "<?xml version=\"1.0\"?><Response><Errors><Error><Code>RequestLimitExceeded</Code>\
                <Message>Slow &lt;down&gt;</Message></Error></Errors><RequestID>r</RequestID></Response>";
    let told = xml::read(body.as_bytes(), xml::refusal).expect("it is XML");
    assert_eq!((told.code(), told.message()), (Some("RequestLimitExceeded"), Some("Slow <down>")));
    let page = xml::read(b"<html><body>Bad gateway</body></html>", xml::refusal).expect("it is XML");
    assert_eq!(page.code(), None);
}

#[test]
fn a_region_has_its_endpoint() {
    assert_eq!(wire::endpoint("eu-central-1"), "https://ec2.eu-central-1.amazonaws.com");
    assert_eq!(wire::endpoint("us-gov-west-1"), "https://ec2.us-gov-west-1.amazonaws.com");
    assert_eq!(wire::endpoint("cn-north-1"), "https://ec2.cn-north-1.amazonaws.com.cn");
}

/// Answers one after the other, and what was asked.
#[derive(Clone, Debug, Default)]
struct Script {
    answers: Arc<Mutex<Vec<(u16, String)>>>,
    heard: Arc<Mutex<Vec<(String, String)>>>,
}

impl HttpConnector for Script {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let signed = request.headers().get("authorization").unwrap_or_default().to_owned();
        self.heard.lock().push((request.uri().to_owned(), signed));
        let (status, body) = self.answers.lock().remove(0);
        let status = status.try_into().expect("a status");
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
    }
}

/// Asks for machines, and is answered so. How fast a provider may ask is remembered, so each is another. Says what came of it, and where it was asked.
async fn asked(
    provider: &str,
    answers: &[(u16, &str)],
) -> (Result<usize, Error>, Vec<(String, String)>, Aws) {
    let script = Script::default();
    let answers = answers.iter().map(|(status, body)| (*status, (*body).to_owned()));
    script.answers.lock().extend(answers);
    let line = SharedHttpConnector::new(script.clone());
    let http: SharedHttpClient = http_client_fn(move |_, _| line.clone());
    let aws = Aws::new(Settings { attempts: 3, time: paused(), http: Some(http), ..Settings::default() });
    let login =
        Login::Keys { id: "AKIAEXAMPLE".to_owned().into(), secret: "k".to_owned().into(), token: None };
    let (provider, region) = (provider.into(), "eu-central-1".into());
    let account = Account { provider, region, endpoint: None, login, role: None };
    let found = aws.machines(&account, Search::All).await.map(|all| all.len());
    let heard = script.heard.lock().clone();
    (found, heard, aws)
}

const NONE: &str = "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>";

fn no(code: &str) -> String {
    format!("<Response><Errors><Error><Code>{code}</Code><Message>no</Message></Error></Errors></Response>")
}

/// What happens, the answers, how often EC2 is asked, and what is told.
type Row<'a> = (&'a str, &'a [(u16, &'a str)], usize, &'a str);

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_and_what_does_not_is_not() {
    let (slow, late, denied) = (no("RequestLimitExceeded"), no("Unavailable"), no("UnauthorizedOperation"));
    let cut = &MACHINES[..MACHINES.len() / 2];
    let table: [Row<'_>; 6] = [
        ("at once", &[(200, NONE)], 1, "0"),
        ("told to slow down", &[(503, &slow), (400, &slow), (200, NONE)], 3, "0"),
        ("broken", &[(500, ""), (503, &late), (200, NONE)], 3, "0"),
        (
            "told to slow down again and again",
            &[(503, &slow), (503, &slow), (503, &slow)],
            3,
            "RequestLimitExceeded",
        ),
        ("not allowed", &[(403, &denied)], 1, "UnauthorizedOperation"),
        // As the SDK's own clients do: the next pass asks again.
        ("cut short", &[(200, cut)], 1, "UnreadableAnswer"),
    ];
    for (rule, answers, calls, want) in table {
        let (found, heard, aws) = asked(rule, answers).await;
        let told = found.map_or_else(|error| error.code().to_owned(), |count| count.to_string());
        assert_eq!((told.as_str(), heard.len()), (want, calls), "{rule}");
        let noted: Vec<String> =
            aws.witness().calls().keys().map(|call| format!("{} {}", call.service, call.operation)).collect();
        assert_eq!(noted, ["EC2 DescribeInstances"], "{rule}");
        for (address, signed) in heard {
            assert_eq!(address, "https://ec2.eu-central-1.amazonaws.com/", "{rule}");
            assert!(signed.contains("/eu-central-1/ec2/aws4_request"), "{rule}: {signed}");
        }
    }
}
