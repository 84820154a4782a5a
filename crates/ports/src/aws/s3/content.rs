//! What is in a bucket, and how it gets empty.

use aws_sdk_s3::types::{Delete, ObjectIdentifier};

use super::{ABSENT, built};
use crate::aws::error::told;
use crate::aws::{Account, Aws, Error};

/// How many are counted: enough to know whether there are any, and to say so.
const COUNTED: i32 = 100;
/// How many versions one call deletes, at most.
const BATCH: i32 = 1000;
/// How many uploads are given up at a time: each takes a call, and a step has 30 s.
const UPLOADS: i32 = 50;

/// What is in a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Versions of objects; an object that has no versions is one. The marks that stand for deleted objects count.
    pub versions: usize,
    /// Uploads in parts that nobody finished.
    pub uploads: usize,
    /// Whether there is more than was counted.
    pub more: bool,
}

impl Aws {
    /// What is in a bucket; nothing, if it is not there.
    pub async fn bucket_content(&self, account: &Account, name: &str) -> Result<Content, Error> {
        let clients = self.clients(account);
        let s3 = clients.s3();
        let versions = async {
            let asked = s3.list_object_versions().bucket(name).max_keys(COUNTED);
            asked.send().await.map_err(|error| told("ListObjectVersions", error))
        };
        let uploads = async {
            let asked = s3.list_multipart_uploads().bucket(name).max_uploads(COUNTED);
            asked.send().await.map_err(|error| told("ListMultipartUploads", error))
        };
        let (versions, uploads) = match tokio::try_join!(versions, uploads) {
            Ok(listed) => listed,
            Err(error) if error.is(&ABSENT) => return Ok(Content::default()),
            Err(error) => return Err(error),
        };
        Ok(Content {
            versions: versions.versions().len() + versions.delete_markers().len(),
            uploads: uploads.uploads().len(),
            more: versions.is_truncated == Some(true) || uploads.is_truncated == Some(true),
        })
    }

    /// Deletes a thousand versions of objects, or as many as there are, for ever.
    pub async fn remove_versions(&self, account: &Account, name: &str) -> Result<(), Error> {
        const ASKED: &str = "DeleteObjects";
        let clients = self.clients(account);
        let s3 = clients.s3();
        let answer = s3.list_object_versions().bucket(name).max_keys(BATCH).send().await;
        let listed = match answer.map_err(|error| told("ListObjectVersions", error)) {
            Ok(listed) => listed,
            Err(error) if error.is(&ABSENT) => return Ok(()),
            Err(error) => return Err(error),
        };
        let versions = listed.versions().iter().map(|version| (&version.key, &version.version_id));
        let marks = listed.delete_markers().iter().map(|mark| (&mark.key, &mark.version_id));
        let one = |(key, version): (&Option<String>, &Option<String>)| {
            let named = ObjectIdentifier::builder().set_key(key.clone()).set_version_id(version.clone());
            built(ASKED, named.build())
        };
        let all = versions.chain(marks).map(one).collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Ok(());
        }
        let asked = built(ASKED, Delete::builder().set_objects(Some(all)).quiet(true).build())?;
        let answer = s3.delete_objects().bucket(name).delete(asked).send().await;
        let answer = answer.map_err(|error| told(ASKED, error))?;
        // What is locked or protected stays, and the answer says so one by one.
        match answer.errors().first() {
            None => Ok(()),
            Some(error) => Err(Error::Refused {
                operation: ASKED,
                code: error.code().unwrap_or("InternalError").to_owned(),
                message: format!(
                    "{}: {}",
                    error.key().unwrap_or_default(),
                    error.message().unwrap_or_default()
                ),
            }),
        }
    }

    /// Gives up uploads that nobody finished, a few at a time.
    pub async fn abort_uploads(&self, account: &Account, name: &str) -> Result<(), Error> {
        let clients = self.clients(account);
        let s3 = clients.s3();
        let answer = s3.list_multipart_uploads().bucket(name).max_uploads(UPLOADS).send().await;
        let listed = match answer.map_err(|error| told("ListMultipartUploads", error)) {
            Ok(listed) => listed,
            Err(error) if error.is(&ABSENT) => return Ok(()),
            Err(error) => return Err(error),
        };
        // Some that speak S3 list more than they were asked for.
        for (upload, _) in listed.uploads().iter().zip(0..UPLOADS) {
            let asked = s3.abort_multipart_upload().bucket(name);
            let asked = asked.set_key(upload.key.clone()).set_upload_id(upload.upload_id.clone());
            match asked.send().await.map_err(|error| told("AbortMultipartUpload", error)) {
                Err(error) if !error.is(&["NoSuchUpload"]) && !error.is(&ABSENT) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
