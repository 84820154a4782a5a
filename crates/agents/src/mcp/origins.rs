//! Which pages may speak to the server: its own, and no others. A page of elsewhere that a browser was lured to could
//! otherwise reach a server on the same machine.

/// What the origins of the server's own pages are called, for a server on this machine.
pub(crate) fn origins(address: &str) -> Vec<String> {
    let port = address.rsplit_once(':').map(|(_, port)| port.trim_end_matches('/'));
    let port = port.filter(|port| port.parse::<u16>().is_ok());
    let hosts = ["localhost", "127.0.0.1", "[::1]"].into_iter();
    port.into_iter().flat_map(|port| hosts.clone().map(move |host| format!("http://{host}:{port}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::origins;

    #[test]
    fn only_pages_of_the_servers_own_port_may_speak_to_it() {
        let own = ["http://localhost:7070", "http://127.0.0.1:7070", "http://[::1]:7070"];
        assert_eq!(origins("http://127.0.0.1:7070"), own);
        assert_eq!(origins("http://127.0.0.1:7070/"), own);
        assert!(origins("http://example.com").is_empty());
    }
}
