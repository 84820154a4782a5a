//! What goes out with a question and has to come back with the answer: sealed, bound to who asked for what, and usable
//! once, for a while.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rmcp::model::{RequestStateCodec, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::audit;
use crate::identity::Caller;
use crate::server::Asked;
use crate::tool::Answered;

/// How long a person has to answer.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

#[derive(Serialize, Deserialize)]
struct Sealed {
    hash: String,
    nonce: String,
}

/// Makes seals and opens them. A restart of the server makes all of them void.
pub(crate) struct Seals {
    codec: RequestStateCodec,
    patience: Duration,
    /// Those that were opened, until they would have expired.
    used: Mutex<HashMap<String, Instant>>,
}

impl Seals {
    pub(crate) fn new() -> Self {
        Self::lasting(PATIENCE)
    }

    fn lasting(patience: Duration) -> Self {
        let key: [u8; 32] = rand::random();
        let codec = RequestStateCodec::try_new(key).expect("the key is as long as it has to be");
        Self { codec, patience, used: Mutex::default() }
    }

    /// Seals the hash of a question to a caller.
    pub(crate) fn seal(&self, caller: &Caller, asked: &Asked, hash: String) -> Result<String, Error> {
        let nonce: [u8; 16] = rand::random();
        let sealed = Sealed { hash, nonce: audit::hex(&nonce) };
        let bound = bound(caller, asked);
        let options = SealOptions::new().associated_data(&bound).ttl(self.patience);
        self.codec.seal_json_with(&sealed, &options).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Opens what came back, once.
    pub(crate) fn open(&self, caller: &Caller, asked: &Asked, state: &str) -> Result<Answered, Error> {
        let bound = bound(caller, asked);
        let opened: Result<Sealed, _> = self.codec.open_json_with(state, &bound);
        let Sealed { hash, nonce } = opened.map_err(|error| {
            let why = match error {
                RequestStateError::Expired => "it has expired",
                _ => "it was not made for this caller and this call",
            };
            Error::BadConfirmation { why }
        })?;
        let now = Instant::now();
        let mut used = self.used.lock();
        used.retain(|_, until| *until > now);
        match used.insert(nonce, now + self.patience) {
            None => Ok(Answered { hash }),
            Some(_) => Err(Error::BadConfirmation { why: "it has been used" }),
        }
    }
}

/// What a seal is bound to: who asks, and for what exactly.
fn bound(caller: &Caller, asked: &Asked) -> Vec<u8> {
    let parts = [caller.fingerprint.as_str(), &asked.tool, &audit::digest(&asked.arguments)];
    parts.join("\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::identity::Role;

    fn caller(fingerprint: &str) -> Caller {
        Caller { name: "t".into(), fingerprint: fingerprint.into(), role: Role::Session, scoped: false }
    }

    fn asked(tool: &str, name: &str) -> Asked {
        let arguments = json!({ "name": name }).as_object().cloned().unwrap_or_default();
        Asked { tool: tool.into(), arguments, ..Asked::default() }
    }

    #[test]
    fn a_seal_opens_once_for_whom_and_what_it_was_made() {
        let seals = Seals::new();
        let (owner, wish) = (caller("a"), asked("deprovision_service", "db"));
        let seal = || seals.seal(&owner, &wish, "plan".into()).expect("it is sealed");
        let why = |caller: &Caller, asked: &Asked, state: &str| match seals.open(caller, asked, state) {
            Ok(answered) => answered.hash,
            Err(error) => error.to_string(),
        };
        let not_made = "not made for this caller and this call";
        let sealed = seal();
        let cut = &sealed[..sealed.len() - 1];
        for (what, told) in [
            ("somebody else", why(&caller("b"), &wish, &sealed)),
            ("another tool", why(&owner, &asked("delete_app", "db"), &sealed)),
            ("other arguments", why(&owner, &asked("deprovision_service", "other"), &sealed)),
            ("cut", why(&owner, &wish, cut)),
            ("longer", why(&owner, &wish, &format!("{sealed}A"))),
            ("nothing", why(&owner, &wish, "")),
            (
                "of another server",
                why(&owner, &wish, &Seals::new().seal(&owner, &wish, "plan".into()).expect("sealed")),
            ),
        ] {
            assert!(told.contains(not_made), "{what}: {told}");
        }
        assert_eq!(why(&owner, &wish, &sealed), "plan", "what was refused is not used up by it");
        assert!(why(&owner, &wish, &sealed).contains("has been used"));
        assert_eq!(why(&owner, &wish, &seal()), "plan", "another one is another one");
    }

    #[test]
    fn a_seal_does_not_last() {
        let seals = Seals::lasting(Duration::from_millis(1));
        let (owner, wish) = (caller("a"), asked("deprovision_service", "db"));
        let sealed = seals.seal(&owner, &wish, "plan".into()).expect("it is sealed");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(3) {
            std::hint::spin_loop();
        }
        let told = seals.open(&owner, &wish, &sealed).expect_err("its time is over").to_string();
        assert!(told.contains("it has expired"), "{told}");
    }
}
