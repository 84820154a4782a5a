//! A control plane behind a socket, in memory: `cargo run -p control-plane --example serve -- 6443 kubeconfig`.

use control_plane::ControlPlane;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let port: u16 = args.next().as_deref().unwrap_or("6443").parse()?;
    let file = args.next().unwrap_or_else(|| "kubeconfig".into());
    let plane = ControlPlane::start().await?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let address = format!("https://{}", listener.local_addr()?);
    std::fs::write(&file, plane.admin_kubeconfig(&address)?)?;
    plane.serve(listener, &[])?;
    tokio::signal::ctrl_c().await?;
    plane.close().await;
    Ok(())
}
