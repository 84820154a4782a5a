use proptest::prelude::*;

use super::*;
use crate::identity::authority::Authority;

fn now() -> Timestamp {
    Timestamp::from_second(1_794_769_178).expect("a time")
}

fn tokens() -> Tokens {
    let authority = Authority::ephemeral(now()).expect("made");
    Tokens::new(authority.token_key(), "https://kubernetes.default.svc").expect("a key")
}

fn bob() -> TokenClaims {
    TokenClaims {
        namespace: "default".into(),
        name: "bob".into(),
        uid: "u-1".into(),
        seconds: 600,
        ..TokenClaims::default()
    }
}

/// The token's parts with one of them rewritten, keeping the old signature.
fn rewritten(token: &str, part: usize, edit: impl Fn(&mut Value)) -> String {
    let mut parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    let bytes = URL_SAFE_NO_PAD.decode(&parts[part]).expect("base64");
    let mut value: Value = serde_json::from_slice(&bytes).expect("json");
    edit(&mut value);
    parts[part] = URL_SAFE_NO_PAD.encode(value.to_string());
    parts.join(".")
}

#[test]
fn a_token_says_what_the_original_says() {
    let tokens = tokens();
    let mut wanted = bob();
    wanted.bound = Some(Bound { kind: "Pod".into(), name: "p".into(), uid: "u-2".into() });
    let token = tokens.issue(&wanted, now()).expect("signed");
    let part = |at: usize| {
        let bytes = URL_SAFE_NO_PAD.decode(token.split('.').nth(at).expect("a part")).expect("base64");
        serde_json::from_slice::<Value>(&bytes).expect("json")
    };
    assert_eq!(part(0), json!({"alg": "ES256", "kid": tokens.key_id}));
    let claims = part(1);
    assert_eq!(claims["aud"], json!(["https://kubernetes.default.svc"]));
    assert_eq!(claims["exp"].as_i64(), Some(now().as_second() + 600));
    assert_eq!(claims["nbf"], claims["iat"]);
    assert_eq!(claims["sub"], "system:serviceaccount:default:bob");
    let private = json!({
        "namespace": "default", "pod": {"name": "p", "uid": "u-2"},
        "serviceaccount": {"name": "bob", "uid": "u-1"},
    });
    assert_eq!(claims["kubernetes.io"], private);
}

#[test]
fn an_accepted_token_becomes_a_user() {
    let tokens = tokens();
    let mut wanted = bob();
    wanted.bound = Some(Bound { kind: "Pod".into(), name: "p".into(), uid: "u-2".into() });
    let token = tokens.issue(&wanted, now()).expect("signed");
    let claims = tokens.verify(&token, &[], now()).expect("accepted");
    assert_eq!(claims.bound, wanted.bound);
    let user = claims.user();
    assert_eq!(user.name, "system:serviceaccount:default:bob");
    assert_eq!(user.uid, "u-1");
    assert_eq!(
        user.groups,
        ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    );
    assert_eq!(user.extra["authentication.kubernetes.io/pod-name"], ["p"]);
    assert_eq!(user.extra["authentication.kubernetes.io/pod-uid"], ["u-2"]);
    assert_eq!(user.extra["authentication.kubernetes.io/credential-id"], [format!("JTI={}", claims.id)]);
}

#[test]
fn every_hostile_token_is_refused_for_its_reason() {
    let ours = tokens();
    let token = ours.issue(&bob(), now()).expect("signed");
    let theirs = tokens().issue(&bob(), now()).expect("signed");
    let renamed = Tokens { key: rekeyed(&ours), issuer: "https://evil".into(), key_id: ours.key_id.clone() };
    let [header, payload, signature] = token.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts")
    };
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let masters = |claims: &mut Value| claims["sub"] = json!("system:admin");
    let table = [
        ("empty", String::new(), Refusal::Malformed),
        ("one part", "x".into(), Refusal::Malformed),
        ("two parts", format!("{header}.{payload}"), Refusal::Malformed),
        ("four parts", format!("{token}.x"), Refusal::Malformed),
        ("cut short", token[..token.len() - 2].into(), Refusal::Signature),
        ("padded", format!("{token}="), Refusal::Malformed),
        ("huge", format!("{header}.{}.{signature}", "A".repeat(20_000)), Refusal::Malformed),
        ("alg none", format!("{none}.{payload}."), Refusal::Algorithm),
        ("alg none in capitals", rewritten(&token, 0, |h| h["alg"] = json!("NONE")), Refusal::Algorithm),
        (
            "alg HS256 with the public key",
            rewritten(&token, 0, |h| h["alg"] = json!("HS256")),
            Refusal::Algorithm,
        ),
        ("alg in a list", rewritten(&token, 0, |h| h["alg"] = json!(["ES256"])), Refusal::Algorithm),
        ("critical extension", rewritten(&token, 0, |h| h["crit"] = json!(["x"])), Refusal::Algorithm),
        ("another key's name", rewritten(&token, 0, |h| h["kid"] = json!("x")), Refusal::Signature),
        ("header changed", rewritten(&token, 0, |h| h["typ"] = json!("JWT")), Refusal::Signature),
        ("payload changed", rewritten(&token, 1, masters), Refusal::Signature),
        ("signature changed", format!("{header}.{payload}.{flipped}{}", &signature[1..]), Refusal::Signature),
        ("no signature", format!("{header}.{payload}."), Refusal::Signature),
        (
            "zero signature",
            format!("{header}.{payload}.{}", URL_SAFE_NO_PAD.encode([0; 64])),
            Refusal::Signature,
        ),
        ("signed by others", theirs, Refusal::Signature),
        ("another issuer", renamed.issue(&bob(), now()).expect("signed"), Refusal::Issuer),
    ];
    for (rule, token, want) in table {
        assert_eq!(ours.verify(&token, &[], now()).err(), Some(want), "{rule}");
    }
}

/// The same key once more; a pair cannot be cloned.
fn rekeyed(tokens: &Tokens) -> EcdsaKeyPair {
    use aws_lc_rs::encoding::AsBigEndian;
    let secret = tokens.key.private_key().as_be_bytes().expect("a secret");
    let public = tokens.key.public_key().as_ref();
    EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, secret.as_ref(), public)
        .expect("a pair")
}

#[test]
fn a_token_has_its_time_and_its_audience() {
    let tokens = tokens();
    let mut wanted = bob();
    wanted.audiences = vec!["vault".into(), "registry".into()];
    let token = tokens.issue(&wanted, now()).expect("signed");
    let vault = ["vault".to_owned(), "other".to_owned()];
    let at = |seconds: i64| now() + jiff::SignedDuration::from_secs(seconds);
    let audiences = |found: Result<Claims, Refusal>| found.map(|claims| claims.audiences);
    assert_eq!(audiences(tokens.verify(&token, &vault, now())), Ok(vec!["vault".to_owned()]));
    let table = [
        ("in its last second", tokens.verify(&token, &vault, at(599)).err(), None),
        ("after its end", tokens.verify(&token, &vault, at(600)).err(), Some(Refusal::Expired)),
        ("before its time", tokens.verify(&token, &vault, at(-1)).err(), Some(Refusal::Early)),
        ("for the server", tokens.verify(&token, &[], now()).err(), Some(Refusal::Audience)),
        ("for others", tokens.verify(&token, &["x".into()], now()).err(), Some(Refusal::Audience)),
    ];
    for (rule, told, want) in table {
        assert_eq!(told, want, "{rule}");
    }
    wanted.seconds = i64::MAX;
    assert!(tokens.issue(&wanted, now()).is_err(), "no token for ever");
    wanted = bob();
    wanted.bound = Some(Bound { kind: "ConfigMap".into(), name: "c".into(), uid: "u".into() });
    assert!(tokens.issue(&wanted, now()).is_err(), "no token bound to what cannot be looked up");
}

type Edit = fn(&mut Value);

#[test]
fn a_signed_payload_must_still_be_an_accounts() {
    let good = claims::write(&bob(), "i", "id", 10).expect("claims");
    let audiences = ["i".to_owned()];
    let table: [(&str, Edit, Refusal); 6] = [
        ("no end", |c| c["exp"] = Value::Null, Refusal::Claims),
        ("end in words", |c| c["exp"] = json!("never"), Refusal::Claims),
        ("no account", |c| c["kubernetes.io"]["serviceaccount"] = Value::Null, Refusal::Claims),
        ("no namespace", |c| c["kubernetes.io"]["namespace"] = json!(""), Refusal::Claims),
        ("another subject", |c| c["sub"] = json!("system:admin"), Refusal::Claims),
        ("audience in words", |c| c["aud"] = json!("i"), Refusal::Claims),
    ];
    assert!(claims::read(&good, "i", &audiences, 20).is_ok());
    for (rule, edit, want) in table {
        let mut payload = good.clone();
        edit(&mut payload);
        assert_eq!(claims::read(&payload, "i", &audiences, 20).err(), Some(want), "{rule}");
    }
}

#[test]
fn the_published_key_is_the_signing_one() {
    let tokens = tokens();
    let key = &tokens.jwks()["keys"][0];
    assert_eq!(key["kid"], tokens.key_id.as_str());
    assert_eq!(key["x"].as_str().map(str::len), Some(43));
    let half = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().expect("text")).expect("base64");
    let point = [vec![4], half("x"), half("y")].concat();
    assert_eq!(point, tokens.key.public_key().as_ref());
    let found = tokens.openid_configuration("https://127.0.0.1/openid/v1/jwks");
    assert_eq!(found["issuer"], "https://kubernetes.default.svc");
    assert_eq!(found["id_token_signing_alg_values_supported"], json!(["ES256"]));
    assert!(Tokens::new("no key", "x").is_err());
}

proptest! {
    #[test]
    fn no_string_is_accepted_or_breaks_anything(text in ".{0,200}", dots in "[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,90}") {
        let tokens = tokens();
        prop_assert!(tokens.verify(&text, &[], now()).is_err());
        prop_assert!(tokens.verify(&dots, &[], now()).is_err());
    }
}
