//! The rights that the calls of all rows need, kind by kind: `docs/aws.md` lists them, and must list these.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ports::aws::Call;

/// Where the list begins and ends in the document.
const BEGIN: &str =
    "<!-- rights: made by the tests; WRITE_DOCS=1 cargo test -p controllers --test aws writes them -->\n";
const END: &str = "<!-- end of rights -->\n";
/// What asks for the list to be written instead of compared.
const WRITE: &str = "WRITE_DOCS";

/// What was called, by the part of the tests that called it.
#[derive(Default)]
pub struct Rights(BTreeMap<&'static str, BTreeSet<String>>);

impl Rights {
    /// Notes the calls of a row.
    pub fn note(&mut self, part: &str, calls: impl IntoIterator<Item = Call>) {
        let Some(kind) = kind(part) else { return };
        let noted = self.0.entry(kind).or_default();
        // Every kind is tested with a provider beside it, whose calls are the provider's.
        let calls = calls.into_iter().filter(|call| (call.service == "STS") == (kind == "AWSProvider"));
        calls.for_each(|call| noted.extend(actions(&call)));
    }

    /// Compares with the document, or writes it.
    pub fn settle(&self) -> Result<(), String> {
        let file = document();
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let (before, rest) = text.split_once(BEGIN).ok_or("docs/aws.md has no place for the rights")?;
        let (now, after) = rest.split_once(END).ok_or("the rights in docs/aws.md have no end")?;
        let wanted = self.table();
        if now == wanted {
            return Ok(());
        }
        if std::env::var_os(WRITE).is_none() {
            return Err(format!(
                "docs/aws.md lists other rights than the calls need; {WRITE}=1 writes them:\n{wanted}"
            ));
        }
        let text = format!("{before}{BEGIN}{wanted}{END}{after}");
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
    }

    fn table(&self) -> String {
        let mut text = String::from("| kind | actions |\n|---|---|\n");
        for (kind, actions) in &self.0 {
            let actions: Vec<String> = actions.iter().map(|action| format!("`{action}`")).collect();
            let _ = writeln!(text, "| `{kind}` | {} |", actions.join(", "));
        }
        text
    }
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/aws.md")
}

/// The kind that a part of the tests is about; faults are no kind's own.
fn kind(part: &str) -> Option<&'static str> {
    Some(match part {
        "buckets" => "S3Bucket",
        "databases" => "RDSInstance",
        "machines" => "EC2Instance",
        "providers" => "AWSProvider",
        "queues" => "SQSQueue",
        _ => return None,
    })
}

/// What a call has to be allowed in IAM, where most actions are called as their calls are.
/// <https://docs.aws.amazon.com/service-authorization/latest/reference/reference.html>
fn actions(call: &Call) -> Vec<String> {
    let service = call.service.to_ascii_lowercase();
    let named: &[&str] = match (service.as_str(), call.operation.as_str()) {
        ("s3", "HeadBucket" | "ListObjects" | "ListObjectsV2") => &["ListBucket"],
        ("s3", "ListBuckets") => &["ListAllMyBuckets"],
        ("s3", "ListObjectVersions") => &["ListBucketVersions"],
        ("s3", "ListMultipartUploads") => &["ListBucketMultipartUploads"],
        ("s3", "DeleteObjects") => &["DeleteObject", "DeleteObjectVersion"],
        ("s3", "GetBucketEncryption") => &["GetEncryptionConfiguration"],
        ("s3", "PutBucketEncryption" | "DeleteBucketEncryption") => &["PutEncryptionConfiguration"],
        ("s3", "GetBucketLifecycleConfiguration") => &["GetLifecycleConfiguration"],
        ("s3", "PutBucketLifecycleConfiguration" | "DeleteBucketLifecycle") => &["PutLifecycleConfiguration"],
        ("s3", "GetBucketCors") => &["GetBucketCORS"],
        ("s3", "PutBucketCors" | "DeleteBucketCors") => &["PutBucketCORS"],
        ("s3", "GetPublicAccessBlock") => &["GetBucketPublicAccessBlock"],
        ("s3", "PutPublicAccessBlock" | "DeletePublicAccessBlock") => &["PutBucketPublicAccessBlock"],
        ("s3", "DeleteBucketTagging") => &["PutBucketTagging"],
        // Tags that are set in the call that makes something are a right of their own.
        ("sqs", "CreateQueue") => &["CreateQueue", "TagQueue"],
        ("rds", "CreateDBInstance") => &["CreateDBInstance", "AddTagsToResource"],
        // A machine is given its instance profile's role.
        ("ec2", "RunInstances") => &["RunInstances", "CreateTags", "iam:PassRole"],
        ("ec2", "AssociateIamInstanceProfile") => &["AssociateIamInstanceProfile", "iam:PassRole"],
        ("ec2", "ReplaceIamInstanceProfileAssociation") => {
            &["ReplaceIamInstanceProfileAssociation", "iam:PassRole"]
        }
        (_, operation) => return vec![format!("{service}:{operation}")],
    };
    let whole = |action: &&str| {
        if action.contains(':') { (*action).to_owned() } else { format!("{service}:{action}") }
    };
    named.iter().map(whole).collect()
}
