//! Which rooms run, on which ports: here, and nowhere else, is it known that this is one machine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use api::names::HostName;
use bytes::Bytes;
use control_plane::ControlPlane;
use controllers::claims::book::Book;
use controllers::{apps, claims, infra, local, services};
use futures::FutureExt;
use gateway::{Body, Gateway, PlatformAnswer};
use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use kit::House;
use ports::build::{self, Images};
use ports::postgres::{self, Postgres as _};
use ports::{admin, authority, forward, homes, loopback, probe, process, traffic};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{db, machine, place, preview, unused};

/// The word that makes this binary the parent of one program.
pub(crate) const SHIM: &str = "shim";
/// How long programs may take to end when the platform stops; `terrace up` promises to stop within five seconds.
const LAST_GRACE: Duration = Duration::from_millis(2_500);
/// How long databases may take after that, when nobody uses them any more.
const DATABASE_GRACE: Duration = Duration::from_millis(1_500);
/// How long the data of a deleted database is kept (managed-services.md).
const KEPT: Duration = Duration::from_secs(72 * 3600);
/// The issuer of certificates on this machine.
const ISSUER: &str = "terrace";
/// How many builds run at one time: each keeps a core or two busy.
const BUILDS: usize = 2;

/// What is decided before a machine becomes a platform.
pub(crate) struct Plan {
    /// The data directory, closed to others.
    pub dir: PathBuf,
    /// The directory that programs can reach.
    pub shared: PathBuf,
    /// The domain of applications without a host of their own.
    pub base_domain: HostName,
    /// Where applications answer.
    pub http: TcpListener,
    /// Where agents connect.
    pub agents: Agents,
    /// Where they answer over TLS.
    pub https: Option<TcpListener>,
    /// How long one build may take.
    pub build_timeout: Duration,
    /// More directories with the programs of PostgreSQL.
    pub postgres_bin: Vec<PathBuf>,
    /// The configuration of database claims.
    pub claims: Book,
}

/// Where and how agents are served.
pub(crate) struct Agents {
    /// Where they connect.
    pub listener: TcpListener,
    /// Calls that a token has for each second.
    pub rate: u32,
    /// How long a session lasts without a call.
    pub session_ttl: Duration,
    /// Hosts of git repositories that may lie in private networks.
    pub private_git_hosts: Vec<String>,
}

/// This machine, running programs.
pub(crate) struct Machine {
    processes: Arc<process::Live>,
    databases: Arc<postgres::Live>,
    builds: Arc<Builds>,
    rooms: JoinHandle<()>,
    stop: CancellationToken,
}

type Builds = build::Live<process::Live>;

impl Machine {
    /// Finds what an earlier life left running, opens the doors, and lets every room work.
    pub(crate) async fn open(plane: &ControlPlane, plan: Plan) -> anyhow::Result<Self> {
        let stop = CancellationToken::new();
        let client = governed(plane);
        machine::furnish(&client).await?;
        let binary = reachable_binary(&plan.shared)?;
        let words = |last: &str| vec![binary.display().to_string(), last.to_owned()];
        let settings = process::Settings { shim: words(SHIM), dir: plan.dir.join("runs") };
        let processes = Arc::new(process::Live::open(settings).await?);
        let images = Images::open(&plan.shared, words("files"))?;
        let settings = build::Settings {
            data: plan.dir.clone(),
            shared: plan.shared.clone(),
            environment: std::env::vars().collect(),
            file_urls: true,
            parallel: BUILDS,
        };
        let builds = Arc::new(build::Live::open(settings, images.clone(), processes.clone()).await?);
        tokio::spawn(unused::run(images.clone(), plan.dir.join("builds"), client.clone(), stop.clone()));
        let config = apps_config(&plan)?;
        preview::settings::publish(&client, &config)
            .await
            .context("cannot write down how applications are reached")?;
        let databases = Arc::new(open_databases(&plan, words(SHIM)).await?);
        let (claims, infra) = (open_claims(&plan, &stop), infra::Desk::new(Arc::default()));
        let services = services_config(&databases);
        let rooms = || controllers::all(config.clone(), services.clone(), claims.clone(), infra.clone());
        let planner = preview::Planner::new(client.clone(), rooms());
        let agents = open_agents(plane, &plan, &databases, planner, &stop).await?;
        let house = rooms().into_iter().fold(House::new(client, stop.clone()), House::any);
        let authority = Arc::new(authority::Live::open(&plan.dir.join("pki"), jiff::Timestamp::now())?);
        let homes = Arc::new(homes::Live::new(plan.shared.join("pods"), plan.dir.join("logs")));
        let gateway = open_doors(&house, plan.http, plan.https, &stop);
        tokio::spawn(agents.serve(plan.agents.listener));
        let traffic = Arc::new(traffic::Live::new(gateway));
        let forward = Arc::new(forward::Live::default());
        let pods = local::pod::Ground {
            node: machine::NODE.into(),
            processes: processes.clone(),
            images: Arc::new(images),
            rounds: Arc::new(probe::Rounds::new(probe::Live)),
            homes: homes.clone(),
            loopback: Arc::new(loopback::Live::default()),
            traffic: traffic.clone(),
            runtime: machine::container_runtime(),
            user: machine::user_of_programs,
        };
        let house = house
            .room(local::deployment::Deployments)
            .room(local::replica_set::ReplicaSets)
            .room(local::pod::Pods::new(pods))
            .room(local::service::Services::new(forward.clone()))
            .room(local::node::Nodes::new(processes.clone(), homes, forward, machine::facts()))
            .room(local::build::Images::new(builds.clone(), building(plan.build_timeout)))
            .room(local::route::Routes::new(traffic))
            .room(local::certificate::Certificates::new(authority.clone(), ISSUER))
            .room(local::cloud_database::CloudDatabases::new(services.clone()))
            .room(local::pg_cluster::Clusters::new(databases.clone(), authority, kept()))
            .room(local::pg_backup::Backups::new(databases.clone()));
        Ok(Self { processes, databases, builds, rooms: tokio::spawn(house.run()), stop })
    }

    /// Ends every program and everything it started. What they were is found again at the next start.
    pub(crate) async fn close(self) {
        self.stop.cancel();
        // Rooms first: they would start again what is ended here.
        let _ = self.rooms.await;
        self.builds.close().await;
        if let Err(error) = self.processes.stop_all(LAST_GRACE).await {
            tracing::error!(%error, "some programs may still run");
        }
        // Databases last: a program may write until its end.
        if let Err(error) = self.databases.stop_all(DATABASE_GRACE).await {
            tracing::error!(%error, "some databases may still run");
        }
    }
}

/// A client of the control plane, from now on under the rule that what lies in a project is applied as its account.
fn governed(plane: &ControlPlane) -> kube::Client {
    let judge = |occasion: &control_plane::Occasion<'_>, new: &mut serde_json::Value| {
        api::projects::tenancy::confine(occasion.namespace, occasion.old, new)
    };
    plane.rule(control_plane::Rule::new("kustomize.toolkit.fluxcd.io", "Kustomization", judge));
    plane.client()
}

/// Where claims on databases are served. Every claim is looked at again when the configuration changes.
fn open_claims(plan: &Plan, stop: &CancellationToken) -> claims::Office<admin::Live> {
    let settings =
        claims::Settings { namespace: agents::identity::NAMESPACE.into(), ..claims::Settings::default() };
    let office = claims::Office::new(Arc::new(admin::Live::default()), plan.claims.clone(), settings);
    let (followed, stopped) = (office.clone(), stop.clone());
    tokio::spawn(async move { followed.follow(stopped).await });
    tokio::spawn(tell_of_claims(plan.claims.clone(), stop.clone()));
    office
}

/// Says when the configuration of database claims has changed, and what is wrong with it.
async fn tell_of_claims(claims: Book, stop: CancellationToken) {
    let mut changes = claims.changes();
    while let Some(Ok(())) = stop.run_until_cancelled(changes.changed()).await {
        match &changes.borrow_and_update().problem {
            Some(problem) => {
                tracing::warn!("the configuration of database claims stays as it was\n{problem}")
            }
            None => tracing::info!("the configuration of database claims was read again"),
        }
    }
}

/// The PostgreSQL servers of this machine, those included that an earlier life left running.
async fn open_databases(plan: &Plan, shim: Vec<String>) -> anyhow::Result<postgres::Live> {
    let settings = postgres::LiveSettings {
        root: plan.shared.join("databases"),
        shim,
        builds: plan.postgres_bin.clone(),
        cache: Some(place::postgres(&plan.shared)),
        user: machine::user_of_databases,
    };
    Ok(postgres::Live::open(settings).await?)
}

fn building(time: Duration) -> local::build::Config {
    let limits = build::Limits { time, ..build::Limits::default() };
    local::build::Config { user: machine::user_of_builds, limits }
}

fn kept() -> local::pg_cluster::Settings {
    local::pg_cluster::Settings { keep: KEPT }
}

/// Services that name no version get the newest that is here.
fn services_config(databases: &postgres::Live) -> services::Config {
    let newest = databases.builds().into_keys().next_back();
    newest.map_or_else(services::Config::default, |major| services::Config {
        default_version: major.to_string(),
    })
}

/// The server for agents, not yet at its door.
async fn open_agents(
    plane: &ControlPlane,
    plan: &Plan,
    databases: &postgres::Live,
    planner: preview::Planner,
    stop: &CancellationToken,
) -> anyhow::Result<agents::Agents> {
    let Agents { listener, rate, session_ttl, private_git_hosts } = &plan.agents;
    let address = format!("http://127.0.0.1:{}", listener.local_addr()?.port());
    let settings = agents::Settings {
        session_ttl: *session_ttl,
        rate: f64::from(*rate),
        burst: rate.saturating_mul(10),
        private_git_hosts: private_git_hosts.clone(),
        // ssh insists on a user that the machine knows by name, and builds run as users that it does not.
        git_over_ssh: false,
        base_domain: plan.base_domain.to_string(),
        postgres_versions: databases.builds().into_keys().map(|major| major.to_string()).collect(),
        planner: Some(Arc::new(planner)),
        ..agents::Settings::new(place::audit(&plan.dir), address)
    };
    let agents = agents::Agents::open(plane.client(), settings, stop.clone()).await?;
    db::witness::mount(plane, agents.clone());
    Ok(agents)
}

/// How applications are reached here.
fn apps_config(plan: &Plan) -> anyhow::Result<apps::Config> {
    let https_port = plan.https.as_ref().map(TcpListener::local_addr).transpose()?.map(|addr| addr.port());
    let issuer = https_port.map(|_| apps::Issuer { name: ISSUER.into(), kind: "ClusterIssuer".into() });
    Ok(apps::Config {
        http_port: Some(plan.http.local_addr()?.port()),
        https_port,
        issuer,
        ..apps::Config::under(plan.base_domain.clone())
    })
}

fn open_doors(
    house: &House,
    http: TcpListener,
    https: Option<TcpListener>,
    stop: &CancellationToken,
) -> Gateway {
    let metrics = house.metrics().clone();
    // The gateway counts, too, but is made from this.
    let counts: Arc<OnceLock<Gateway>> = Arc::default();
    let counted = counts.clone();
    let platform: gateway::Platform = Arc::new(move |request| {
        let gateway = || counted.get().map(Gateway::metrics).unwrap_or_default();
        let answer = own_page(request, || gateway() + &metrics.encode());
        async move { answer }.boxed()
    });
    let mut settings = gateway::Settings { platform: Some(platform), ..gateway::Settings::default() };
    if let Some(port) = https.as_ref().and_then(|listener| listener.local_addr().ok()) {
        settings.https_port = port.port();
    }
    let gateway = counts.get_or_init(|| Gateway::new(settings)).clone();
    let (door, end) = (gateway.clone(), stop.clone());
    tokio::spawn(async move { door.serve_http(http, end).await });
    if let Some(https) = https {
        let (door, end) = (gateway.clone(), stop.clone());
        tokio::spawn(async move { door.serve_https(https, end).await });
    }
    gateway
}

/// What the platform itself answers at its own address.
fn own_page(request: Request<Incoming>, metrics: impl FnOnce() -> String) -> PlatformAnswer {
    let text = match request.uri().path() {
        "/healthz" => "ok\n".to_owned(),
        "/metrics" => metrics(),
        _ => return PlatformAnswer::NotMine(request),
    };
    let mut response = Response::new(Body::full(Bytes::from(text)));
    *response.status_mut() = StatusCode::OK;
    let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    PlatformAnswer::Mine(response)
}

/// This binary where programs of other users can reach it: static sites are shown by it.
fn reachable_binary(shared: &Path) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    if !place::is_root() {
        return Ok(own);
    }
    let bin = shared.join("bin");
    std::fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
    let (link, new) = (bin.join("terrace"), bin.join("terrace.new"));
    let _ = std::fs::remove_file(&new);
    // A link costs nothing; where the two places lie on different disks it must be a copy.
    std::fs::hard_link(&own, &new)
        .or_else(|_| std::fs::copy(&own, &new).map(drop))
        .and_then(|()| std::fs::rename(&new, &link))
        .with_context(|| format!("cannot put this program at {}", link.display()))?;
    Ok(link)
}
