//! The clients, and the words each of them takes.

use serde_json::{Value, json};

/// What is said to all of them.
pub(super) struct Facts {
    /// Where the server answers.
    pub(super) url: String,
    /// This program.
    pub(super) program: String,
    /// What it is started with.
    pub(super) args: Vec<String>,
    /// The token, or what stands for it.
    pub(super) token: String,
}

/// A client, and how it is told.
pub(super) struct Setup {
    /// Its name on the command line.
    pub(super) client: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// The ways in which it can be told.
    pub(super) ways: Vec<Way>,
}

/// One way to tell a client.
pub(super) struct Way {
    /// `http` or `stdio`.
    pub(super) transport: &'static str,
    /// The file that it stands in; `None` for a command.
    pub(super) file: Option<&'static str>,
    /// The words.
    pub(super) text: String,
}

/// All clients, in the order in which they are listed.
pub(super) fn setups(facts: &Facts) -> Vec<Setup> {
    vec![
        claude_code(facts),
        claude_desktop(facts),
        in_file("cursor", "Cursor", "~/.cursor/mcp.json", "mcpServers", facts),
        vscode(facts),
        codex(facts),
        gemini(facts),
        in_file("zed", "Zed", "~/.config/zed/settings.json", "context_servers", facts),
        curl(facts),
    ]
}

fn claude_code(facts: &Facts) -> Setup {
    let Facts { url, token, .. } = facts;
    let http =
        format!("claude mcp add --transport http terrace {url} --header \"Authorization: Bearer {token}\"");
    let stdio = format!("claude mcp add terrace -- {}", line(facts));
    Setup {
        client: "claude-code",
        title: "Claude Code",
        ways: vec![way("stdio", None, stdio), way("http", None, http)],
    }
}

fn claude_desktop(facts: &Facts) -> Setup {
    let ways = vec![json_way("stdio", "claude_desktop_config.json", &nested("mcpServers", started(facts)))];
    Setup { client: "claude-desktop", title: "Claude Desktop", ways }
}

fn vscode(facts: &Facts) -> Setup {
    const FILE: &str = ".vscode/mcp.json";
    let mut stdio = started(facts);
    stdio["type"] = "stdio".into();
    let mut http = reached("url", facts);
    http["type"] = "http".into();
    let ways = vec![
        json_way("stdio", FILE, &nested("servers", stdio)),
        json_way("http", FILE, &nested("servers", http)),
    ];
    Setup { client: "vscode", title: "Visual Studio Code", ways }
}

fn codex(facts: &Facts) -> Setup {
    const FILE: &str = "~/.codex/config.toml";
    // A JSON string is a TOML string, and a list of them a TOML list.
    let (program, args) = (json!(facts.program), json!(facts.args));
    let stdio = format!("[mcp_servers.terrace]\ncommand = {program}\nargs = {args}");
    let http = format!(
        "[mcp_servers.terrace]\nurl = {}\nhttp_headers = {{ \"Authorization\" = {} }}",
        json!(facts.url),
        json!(format!("Bearer {}", facts.token))
    );
    let ways = vec![way("stdio", Some(FILE), stdio), way("http", Some(FILE), http)];
    Setup { client: "codex", title: "Codex", ways }
}

fn gemini(facts: &Facts) -> Setup {
    const FILE: &str = "~/.gemini/settings.json";
    let ways = vec![
        json_way("stdio", FILE, &nested("mcpServers", started(facts))),
        json_way("http", FILE, &nested("mcpServers", reached("httpUrl", facts))),
    ];
    Setup { client: "gemini", title: "Gemini CLI", ways }
}

/// A client with a file of servers, each by its name.
fn in_file(client: &'static str, title: &'static str, file: &'static str, key: &str, facts: &Facts) -> Setup {
    let ways = vec![
        json_way("stdio", file, &nested(key, started(facts))),
        json_way("http", file, &nested(key, reached("url", facts))),
    ];
    Setup { client, title, ways }
}

fn curl(facts: &Facts) -> Setup {
    let Facts { url, token, .. } = facts;
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "curl", "version": "1" },
        },
    });
    let text = format!(
        "curl -sS {url} \\\n  -H 'Authorization: Bearer {token}' \\\n  -H 'Content-Type: application/json' \\\n  \
         -H 'Accept: application/json, text/event-stream' \\\n  -d '{hello}'"
    );
    Setup { client: "curl", title: "curl, to see whether it answers", ways: vec![way("http", None, text)] }
}

fn way(transport: &'static str, file: Option<&'static str>, text: String) -> Way {
    Way { transport, file, text }
}

fn json_way(transport: &'static str, file: &'static str, value: &Value) -> Way {
    way(transport, Some(file), format!("{value:#}"))
}

fn nested(key: &str, server: Value) -> Value {
    json!({ key: { "terrace": server } })
}

/// A server that the client starts. It needs no token: `terrace mcp` finds its own.
fn started(facts: &Facts) -> Value {
    json!({ "command": facts.program, "args": facts.args })
}

/// A server that the client reaches.
fn reached(key: &str, facts: &Facts) -> Value {
    json!({ key: facts.url, "headers": { "Authorization": format!("Bearer {}", facts.token) } })
}

/// This program with its arguments, as a shell takes them.
fn line(facts: &Facts) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:=@".contains(&byte);
    let word = |word: &String| match !word.is_empty() && word.bytes().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    std::iter::once(&facts.program).chain(&facts.args).map(word).collect::<Vec<_>>().join(" ")
}
