//! SQS: queues.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::QueueAttributeName;

use super::error::told;
use super::{Account, Aws, Error, Tags};

/// What SQS says of a queue that is not there.
const ABSENT: [&str; 3] =
    ["AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "com.amazonaws.sqs#QueueDoesNotExist"];

/// A queue that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Its URL.
    pub url: String,
    /// Its settings and counts, under AWS's names.
    pub attributes: BTreeMap<String, String>,
    /// Its tags.
    pub tags: Tags,
}

impl Aws {
    /// A queue, if it is there.
    pub async fn queue(&self, account: &Account, name: &str) -> Result<Option<Queue>, Error> {
        let clients = self.clients(account);
        let sqs = clients.sqs();
        let url = match sqs.get_queue_url().queue_name(name).send().await.map_err(|e| told("GetQueueUrl", e))
        {
            Ok(answer) => answer.queue_url,
            Err(error) if error.is(&ABSENT) => None,
            Err(error) => return Err(error),
        };
        let Some(url) = url else { return Ok(None) };
        let asked = sqs.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::All);
        let attributes = match asked.send().await.map_err(|error| told("GetQueueAttributes", error)) {
            Ok(answer) => answer.attributes.unwrap_or_default(),
            Err(error) if error.is(&ABSENT) => return Ok(None),
            Err(error) => return Err(error),
        };
        let attributes =
            attributes.into_iter().map(|(name, value)| (name.as_str().to_owned(), value)).collect();
        let tags = match sqs.list_queue_tags().queue_url(&url).send().await {
            Ok(answer) => answer.tags.unwrap_or_default().into_iter().collect(),
            Err(error) => match told("ListQueueTags", error) {
                error if error.is(&ABSENT) => return Ok(None),
                error => return Err(error),
            },
        };
        Ok(Some(Queue { url, attributes, tags }))
    }

    /// Makes a queue. One that is there with the same settings is the same.
    pub async fn create_queue(
        &self,
        account: &Account,
        name: &str,
        attributes: &BTreeMap<String, String>,
        tags: &Tags,
    ) -> Result<(), Error> {
        let clients = self.clients(account);
        let asked = clients.sqs().create_queue().queue_name(name);
        let asked = asked.set_attributes(Some(named(attributes)));
        let asked = asked.set_tags(Some(tags.clone().into_iter().collect()));
        asked.send().await.map_err(|error| told("CreateQueue", error)).map(drop)
    }

    /// Changes settings of a queue.
    pub async fn set_queue_attributes(
        &self,
        account: &Account,
        url: &str,
        attributes: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let clients = self.clients(account);
        let asked = clients.sqs().set_queue_attributes().queue_url(url);
        let asked = asked.set_attributes(Some(named(attributes)));
        asked.send().await.map_err(|error| told("SetQueueAttributes", error)).map(drop)
    }

    /// Sets tags of a queue; others stay.
    pub async fn tag_queue(&self, account: &Account, url: &str, tags: &Tags) -> Result<(), Error> {
        let clients = self.clients(account);
        let asked =
            clients.sqs().tag_queue().queue_url(url).set_tags(Some(tags.clone().into_iter().collect()));
        asked.send().await.map_err(|error| told("TagQueue", error)).map(drop)
    }

    /// Takes tags off a queue.
    pub async fn untag_queue(&self, account: &Account, url: &str, keys: &[String]) -> Result<(), Error> {
        let clients = self.clients(account);
        let asked = clients.sqs().untag_queue().queue_url(url).set_tag_keys(Some(keys.to_vec()));
        asked.send().await.map_err(|error| told("UntagQueue", error)).map(drop)
    }

    /// Deletes a queue and its messages. One that is not there is deleted.
    pub async fn delete_queue(&self, account: &Account, url: &str) -> Result<(), Error> {
        let clients = self.clients(account);
        match clients.sqs().delete_queue().queue_url(url).send().await.map_err(|e| told("DeleteQueue", e)) {
            Err(error) if !error.is(&ABSENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// The names of all queues of an account and region.
    pub async fn queues(&self, account: &Account) -> Result<Vec<String>, Error> {
        let clients = self.clients(account);
        let mut pages = clients.sqs().list_queues().into_paginator().page_size(1000).send();
        let mut names = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| told("ListQueues", error))?;
            let urls = page.queue_urls.unwrap_or_default();
            names.extend(urls.iter().filter_map(|url| url.rsplit('/').next()).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }
}

fn named(attributes: &BTreeMap<String, String>) -> std::collections::HashMap<QueueAttributeName, String> {
    attributes.iter().map(|(name, value)| (QueueAttributeName::from(name.as_str()), value.clone())).collect()
}
