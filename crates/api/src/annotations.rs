//! Annotations and labels that mean something to Terrace.

/// Set to `"true"` on an object, it lets Terrace take over a resource that exists already and is not marked as ours.
pub const ADOPT: &str = "terrace.dev/adopt";

/// On a Secret, an `AWSProvider` or a `DatabaseClaim`: the namespaces, separated by commas, that may use it.
///
/// Without it only the object's own namespace may.
pub const ALLOW_FROM: &str = "terrace.dev/allow-from";

/// On an `EC2Instance`: the id of the machine that is meant, since names of machines are shared. It is taken over only with
/// [`ADOPT`], too.
pub const INSTANCE_ID: &str = "aws-infra-operator.runner.codes/instance-id";

/// On a `DatabaseClaim` or `DbRoleClaim`: a new value asks for a rotation now; on a `Repository`, for a new deploy key.
pub const ROTATE: &str = "terrace.dev/rotate";

/// On a `DatabaseClaim` with a canary migration: set to `"true"`, it lets traffic move to the new database.
pub const APPROVE_MIGRATION: &str = "terrace.dev/approve-migration";

/// On an object of a cloud: with the value `observe`, differences are reported and nothing is ever written or deleted.
pub const MODE: &str = "terrace.dev/mode";

/// On an object whose plan waits for a person: the hash of the plan that is approved.
pub const APPROVE_PLAN: &str = "terrace.dev/approve-plan";

/// Label on everything made for an `Application`: its name.
pub const APPLICATION: &str = "iaf.io/application";

/// Label on everything Terrace makes.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// On everything Terrace applies: a mark of what was wanted of it, so that a dropped wish is noticed.
pub const APPLIED: &str = "terrace.dev/applied";

/// On a pod that runs on one machine, followed by a container port: the port that stands for it on loopback.
pub const PORT: &str = "terrace.dev/port.";

/// On a Deployment made for an `Application`: the source that it was made from, as JSON; `terrace rollback` reads it.
pub const SOURCE: &str = "terrace.dev/source";

/// On a `ManagedService` that does not run yet: the `Backup` in its namespace that it is made from.
pub const RESTORE_BACKUP: &str = "terrace.dev/restore-backup";

/// Beside [`RESTORE_BACKUP`]: the moment that the service goes back to, as RFC 3339.
pub const RESTORE_TIME: &str = "terrace.dev/restore-time";

/// On a `Backup` that holds the data of a deleted service: until when it is kept, as RFC 3339.
pub const KEPT_UNTIL: &str = "terrace.dev/kept-until";

/// On a `Cluster` made for a `ManagedService`, and on its `Backup`s: the service's spec, as JSON. A service that is gone
/// is made again from it.
pub const SERVICE_SPEC: &str = "terrace.dev/service-spec";

/// On the Secret of a claim: when its password was issued, as RFC 3339.
pub const ISSUED_AT: &str = "terrace.dev/issued-at";

/// On a `DatabaseClaim` in the platform's namespace that keeps the database of a deleted claim: that claim, as
/// `namespace/name`. Until when it is kept stands in [`KEPT_UNTIL`].
pub const HELD_FOR: &str = "terrace.dev/held-for";

/// Beside [`HELD_FOR`]: the name that the database has meanwhile, which its roles' names begin with.
pub const HELD_AS: &str = "terrace.dev/held-as";

/// On the object of a server, followed by a digest: a claim that is gone and whose database is to stay, as
/// `namespace/name`. The server stays with it.
pub const RECYCLED: &str = "terrace.dev/recycled.";
